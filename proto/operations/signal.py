"""Signal processing (`cupyx.scipy.signal`, `cupyx.signal`)."""

from cupool.proto.operations.operation import Operation

_NAMES = (
    "band_stop_obj bilinear bilinear_zpk bode buttap butter buttord cheb1ap "
    "cheb1ord cheb2ap cheb2ord cheby1 cheby2 check_COLA check_NOLA chirp coherence "
    "cont2discrete convolve convolve2d correlate correlate2d correlation_lags csd cspline1d "
    "cspline1d_eval cspline2d czt czt_points dbode decimate deconvolve detrend dfreqresp "
    "dimpulse dlsim dstep ellip ellipap ellipord fftconvolve filtfilt find_peaks findfreqs "
    "firls firwin firwin2 freqresp freqs freqs_zpk freqz freqz_sos freqz_zpk gammatone "
    "gauss_spline gausspulse group_delay hilbert hilbert2 iircomb iirdesign iirfilter iirnotch "
    "iirpeak impulse invres invresz istft lfilter lfilter_zi lombscargle lp2bp lp2bp_zpk lp2bs "
    "lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk lsim max_len_seq medfilt medfilt2d minimum_phase "
    "morlet morlet2 normalize oaconvolve order_filter peak_prominences peak_widths periodogram "
    "place_poles qmf qspline1d qspline1d_eval qspline2d resample resample_poly residue residuez "
    "ricker savgol_coeffs savgol_filter sawtooth sepfir2d sos2tf sos2zpk sosfilt sosfilt_zi "
    "sosfiltfilt spectrogram spline_filter square ss2tf ss2zpk step stft sweep_poly "
    "symiirorder1 symiirorder2 tf2sos tf2ss tf2zpk unique_roots upfirdn vectorstrength welch "
    "wiener zoom_fft zpk2sos zpk2ss zpk2tf"
).split()
_DATA = (
    # How many leading zeros are dropped, how many roots are the same.
    "bilinear invres invresz lp2bp lp2bs lp2hp lp2lp normalize residue residuez sos2tf ss2tf "
    "ss2zpk tf2sos tf2ss tf2zpk unique_roots zpk2ss zpk2tf "
    # How many peaks there are; whether those that are given are any.
    "find_peaks peak_prominences peak_widths "
    # The order that a filter needs, the rank of a system.
    "buttord cheb1ord cheb2ord ellipord iirdesign place_poles "
    # Numbers that CuPy looks at before it goes on, if they are on the device.
    "bilinear_zpk butter cheby1 cheby2 chirp cont2discrete decimate detrend dimpulse dlsim dstep "
    "ellip findfreqs firls firwin firwin2 freqs freqs_zpk freqz freqz_zpk gammatone group_delay "
    "iircomb iirfilter iirnotch iirpeak impulse lsim max_len_seq sosfiltfilt step vectorstrength"
    # Sums that may not converge.
    " symiirorder1"
).split()
_WINDOWS = (
    "barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop "
    "gaussian general_cosine general_gaussian general_hamming hamming hann kaiser "
    "kaiser_bessel_derived lanczos nuttall parzen taylor triang tukey"
).split()
_OWN = "morlet morlet2 qmf ricker".split()
"""What SciPy has no longer."""

_SIGNAL = (
    "ca_cfar channelize_poly complex_cepstrum convolve1d2o convolve1d3o firfilter2 firfilter_zi "
    "freq_shift inverse_complex_cepstrum minimum_phase mvdr real_cepstrum"
).split()
"""Of `cupyx.signal`."""


def _row(path: str, name: str) -> Operation:
    numpy = "" if name in _OWN else f"{path}.{name}"
    rule = "data" if name in _DATA else "own"
    return Operation(f"{path}.{name}", "function", f"cupyx.{path}.{name}", numpy, rule)


OPERATIONS: tuple[Operation, ...] = (
    *(_row("scipy.signal", name) for name in _NAMES),
    *(_row("scipy.signal.windows", name) for name in _WINDOWS),
    *(
        Operation(f"signal.{name}", "function", f"cupyx.signal.{name}", "", "own")
        for name in _SIGNAL
    ),
)
