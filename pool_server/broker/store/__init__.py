"""Where a broker keeps what must outlive it, and how one of several brokers comes to lead.

state --changes--> journal --rows, fenced by the term--> Store (memory, SQLite, etcd)
                                                           ^
election: campaign, renew, step down ----------------------'
"""
