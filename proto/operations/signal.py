"""Signal processing (`cupyx.scipy.signal`, `cupyx.signal`)."""

from cupool.proto.operations.operation import Operation

_NAMES = (
    "abcd_normalize band_stop_obj bilinear bilinear_zpk bode buttap butter buttord cheb1ap "
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
_WINDOWS = (
    "barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop "
    "gaussian general_cosine general_gaussian general_hamming get_window hamming hann kaiser "
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
    return Operation(f"{path}.{name}", "function", f"cupyx.{path}.{name}", numpy, "own")


OPERATIONS: tuple[Operation, ...] = (
    *(_row("scipy.signal", name) for name in _NAMES),
    *(_row("scipy.signal.windows", name) for name in _WINDOWS),
    *(
        Operation(f"signal.{name}", "function", f"cupyx.signal.{name}", "", "own")
        for name in _SIGNAL
    ),
)
