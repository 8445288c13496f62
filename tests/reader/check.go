// As check.py, for packages/reader/cuckoo_reader.go.
// usage: go run . cases.jsonl...
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"math/rand"
	"os"
	"strconv"
	"strings"

	"cuckooreader"
)

type filterCase struct {
	Image  []byte // JSON has it in base64
	Kind   string
	Items  uint64
	Ask    [][2]json.RawMessage
	Mutant bool
	Error  string
}

func check(condition bool, format string, values ...any) {
	if !condition {
		log.Fatalf(format, values...)
	}
}

func must[T any](value T, err error) T {
	check(err == nil, "%v", err)
	return value
}

func valueOf(told string) any {
	rest := told[1:]
	switch told[0] {
	case 'i':
		return must(strconv.ParseInt(rest, 10, 64))
	case 'r':
		return math.Float64frombits(binary.BigEndian.Uint64(must(hex.DecodeString(rest))))
	case 't':
		return string(must(hex.DecodeString(rest)))
	case 'b':
		return must(hex.DecodeString(rest))
	}
	return nil
}

func isRefused(data []byte) bool {
	_, err := cuckooreader.Open(data)
	return err != nil
}

func checkCase(c filterCase, name string) int {
	image, err := cuckooreader.Open(c.Image)
	if err != nil {
		check(c.Mutant || c.Error != "" && strings.Contains(err.Error(), c.Error), "%s: %v", name, err)
		return 0
	}
	check(c.Error == "", "%s: not refused", name)
	check(c.Mutant || image.Kind == c.Kind && image.Items == c.Items, "%s: %s, %d", name, image.Kind, image.Items)
	for _, pair := range c.Ask {
		var told []string
		var answer bool
		check(json.Unmarshal(pair[0], &told) == nil && json.Unmarshal(pair[1], &answer) == nil, "%s", name)
		var key []any
		for _, one := range told {
			key = append(key, valueOf(one))
		}
		found, err := image.Contains(key...)
		check(c.Mutant || err == nil && found == answer, "%s: %s: %v, %v", name, pair[0], found, err)
	}
	if !c.Mutant {
		check(isRefused(append(append([]byte{}, c.Image...), 0)) && isRefused(nil), "%s", name)
		for i := 0; i < 20; i++ {
			check(isRefused(c.Image[:rand.Intn(len(c.Image))]), "%s: truncated", name)
			flipped, at := append([]byte{}, c.Image...), rand.Intn(len(c.Image))
			flipped[at] ^= 1 << rand.Intn(8)
			check(isRefused(flipped), "%s: byte %d", name, at)
		}
	}
	return len(c.Ask)
}

func main() {
	images, questions := 0, 0
	for _, name := range os.Args[1:] {
		lines := bufio.NewScanner(must(os.Open(name)))
		lines.Buffer(nil, 1<<30)
		for number := 1; lines.Scan(); number++ {
			var c filterCase
			check(json.Unmarshal(lines.Bytes(), &c) == nil, "%s:%d", name, number)
			questions += checkCase(c, fmt.Sprintf("%s:%d", name, number))
			images++
		}
		check(lines.Err() == nil, "%s", name)
	}
	check(questions > 0, "no questions")
	fmt.Printf("%d images, %d questions\n", images, questions)
}
