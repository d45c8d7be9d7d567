#!/bin/sh
# Makes the images of this folder with ImageMagick: 700,000 pixels in every layout that takes memory of its own.
set -eu
cd "$(dirname "$0")"
size='-size 1000x700'
colors="$size gradient:red-blue"
half='-alpha set -channel A -evaluate set 50%'

convert $colors -depth 8 PNG24:rgb.png
convert $colors -depth 16 PNG48:deep.png
convert $colors $half -depth 8 PNG32:alpha.png
convert $colors $half -depth 8 -interlace PNG PNG32:interlaced.png
convert $colors +dither -colors 16 PNG8:palette.png
convert $size gradient: -colorspace Gray -depth 8 -define png:color-type=0 gray.png

convert $colors -sampling-factor 1x1 -quality 80 baseline.jpg
convert $colors -sampling-factor 1x1 -quality 80 -interlace JPEG progressive.jpg
convert $colors -colorspace CMYK -quality 80 cmyk.jpg
convert $colors -colorspace CMYK -quality 80 -interlace JPEG cmyk-progressive.jpg
convert $size gradient: -colorspace Gray -quality 80 gray.jpg

convert $colors lossy.webp
convert $colors -define webp:lossless=true lossless.webp
convert $colors +dither -colors 16 -define webp:lossless=true palette.webp
convert $colors $half alpha.webp
