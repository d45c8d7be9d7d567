#!/bin/sh
# Writes the sample lessons of the demo with flite in the format of a phone's
# recorder: MP3, 16 kHz, mono, 48 kbit/s. Needs flite and ffmpeg.
#
# pocketsphinx with its English model recognises these sentences word for word
# in this voice, so that tests can compare the text.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# segment NAME SENTENCE... writes a file with a pause after each sentence.
segment() {
	name=$1
	shift
	: >"$work/list"
	n=0
	for sentence in "$@"; do
		n=$((n + 1))
		flite -voice awb -t "$sentence" -o "$work/$n.wav"
		ffmpeg -nostdin -v error -y -i "$work/$n.wav" -af apad=pad_dur=0.8 "$work/padded$n.wav"
		echo "file padded$n.wav" >>"$work/list"
	done
	ffmpeg -nostdin -v error -y -f concat -i "$work/list" -ar 16000 -ac 1 -b:a 48k -map_metadata -1 "$name.mp3"
}

segment lesson1-segment0 "this was a very good lesson" "we talked about light and shadow"
segment lesson1-segment1 "she finished the picture with great care"
segment lesson1-segment2 "she should practice drawing for fifteen minutes every day"
segment lesson2-segment0 "we learned how to mix blue and yellow"
segment lesson2-segment1 "please practice the second page"
