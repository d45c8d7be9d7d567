package audiotype

// The bit rates of layer III in kbit/s and the sample rates of MPEG 1, by index.
var (
	mpeg1Rates  = [16]int{1: 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}
	mpeg2Rates  = [16]int{1: 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}
	sampleRates = [4]int{44100, 48000, 32000}
)

// frameSize returns the length of the mp3 or ADTS frame at the start of b from its header, or 0 if
// there is none.
func frameSize(b []byte) int {
	if len(b) < 6 || b[0] != 0xff {
		return 0
	}
	if b[1]&0xf6 == 0xf0 { // ADTS
		return int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5
	}
	if b[1]&0xe6 != 0xe2 { // not layer III
		return 0
	}
	bits, rate, padding := mpeg1Rates[b[2]>>4], sampleRates[b[2]>>2&3], int(b[2]>>1&1)
	switch b[1] >> 3 & 3 {
	case 0: // MPEG 2.5: a quarter of the sample rate, half the samples
		bits, rate = mpeg2Rates[b[2]>>4], rate/2
	case 1:
		return 0
	case 2: // MPEG 2: half of both
		bits = mpeg2Rates[b[2]>>4]
	}
	if bits == 0 || rate == 0 {
		return 0
	}
	return 144_000*bits/rate + padding
}
