package cloud

import (
	"strings"
	"unicode/utf8"
)

// Limits of a list of hot words, from the documentation of the cloud (parameter HotwordList).
const (
	maxHotWords       = 128
	maxHotWordLength  = 30 // characters
	maxHotWordChinese = 10 // characters, if any is not ASCII
	hotWordWeight     = "|10"

	maxHotWordList = 2000 // bytes of a list, which the flash interface takes in the address
)

// hotWords returns the words that the cloud takes in the form "word|10,word|10", or nil if
// there are none.
func hotWords(words []string) *string {
	list := ""
	for _, word := range words {
		n := utf8.RuneCountInString(word)
		long := n > maxHotWordLength || n < len(word) && n > maxHotWordChinese
		if n == 0 || long || strings.ContainsAny(word, "|,，\r\n\t") {
			continue
		}
		if strings.Count(list, ",") == maxHotWords || len(list)+len(word)+len(hotWordWeight) > maxHotWordList {
			break
		}
		list += "," + word + hotWordWeight
	}
	if list == "" {
		return nil
	}
	list = list[1:]
	return &list
}
