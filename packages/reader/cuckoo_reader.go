// Package cuckooreader asks an image of a filter whether it has a key, without SQLite.
//
//	image, err := cuckooreader.Open(data)
//	found, err := image.Contains("ann") // of two columns: image.Contains(1, "ann")
//
// filter_export(), cuckoo_build(), bloom_build() and filter_union() of sqlite-cuckoo make images. docs/FORMAT.md
// says what their bytes mean. Open checks them once, Contains reads them in place.
package cuckooreader

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// FilterImage is an image that was checked. Many goroutines may ask it at once.
type FilterImage struct {
	Kind    string // "cuckoo_filter" or "bloom_filter"
	Items   uint64 // how many keys it holds
	Columns int    // of how many a key is
	filters []filter
}

type filter struct { // one image: what it says of its keys, and its pieces
	kind, items, hashBits, seed uint64
	columns                     []column
	pieces                      []piece
}

type column struct{ affinity, collation uint64 }

type piece struct { // the filter of the hashes that begin with a prefix
	data                                       []byte
	kind, depth, detail, shape, occupied, size uint64
	start, cells, overflow, overflows, end     uint64 // start: of its prefix
	width, values, perPage, pageBytes          uint64
}

const (
	golden             = 0x9E3779B97F4A7C15
	textType, blobType = 2, 3
	tooLarge           = 1 << 53 // no number of an image is
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func damaged(what string) error { return fmt.Errorf("damaged image: %s", what) }

func u32(data []byte, at uint64) uint64 { return uint64(binary.LittleEndian.Uint32(data[at:])) }
func u64(data []byte, at uint64) uint64 { return binary.LittleEndian.Uint64(data[at:]) }

// Open checks an image. It keeps data, which must not change.
func Open(data []byte) (*FilterImage, error) {
	parts, err := sections(data)
	if err != nil {
		return nil, err
	}
	image := &FilterImage{Kind: "bloom_filter"}
	for _, part := range parts {
		one, err := openFilter(part)
		if err != nil {
			return nil, err
		}
		image.filters = append(image.filters, one)
		image.Items += one.items
		first := &image.filters[0]
		if one.kind != first.kind || one.hashBits != first.hashBits || one.seed != first.seed ||
			!reflect.DeepEqual(one.columns, first.columns) {
			return nil, damaged("its generations have different keys")
		}
	}
	if image.filters[0].kind == 1 {
		image.Kind = "cuckoo_filter"
	}
	image.Columns = len(image.filters[0].columns)
	return image, nil
}

// Contains says whether the filter may have the key: false is certain. A key with nil or NaN in it is never there.
// Integers and bools are INTEGER, floats REAL, a string is TEXT, a []byte BLOB. Other types are errors.
func (image *FilterImage) Contains(key ...any) (bool, error) {
	first := &image.filters[0]
	if len(key) != image.Columns {
		return false, fmt.Errorf("a key of this image has %d columns, not %d", image.Columns, len(key))
	}
	var room [64]byte
	kind, content, err := first.columns[0].keyOf(key[0], room[:0])
	if len(key) > 1 {
		content, kind = append([]byte("CKT"), byte(len(key))), blobType
		for i, value := range key {
			partKind, part, err := first.columns[i].keyOf(value, nil)
			if partKind < 0 || err != nil {
				return false, err
			}
			content = append(content, byte(partKind), 0, 0, 0, 0)
			binary.LittleEndian.PutUint32(content[len(content)-4:], uint32(len(part)))
			content = append(content, part...)
		}
	}
	if kind < 0 || err != nil {
		return false, err
	}
	if first.kind == 5 {
		return kind >= textType && first.hasLegacy(content), nil
	}
	hash := xxh3(content, first.seed+uint64(kind)*golden)
	hash &^= 1<<(64-first.hashBits) - 1
	for i := range image.filters {
		if image.filters[i].has(hash) {
			return true, nil
		}
	}
	return false, nil
}

func checkStart(data []byte, size int, version, known uint64) error {
	if version != known {
		return fmt.Errorf("image of version %d; this reader knows version %d", version, known)
	}
	if len(data) < size || u64(data, 8) != uint64(len(data)) {
		return damaged("its length is wrong")
	}
	return nil
}

// sections gives the images of a window's generations, or the one image.
func sections(data []byte) ([][]byte, error) {
	if !bytes.HasPrefix(data, []byte("CKIW")) {
		return [][]byte{data}, nil
	}
	if len(data) < 164 {
		return nil, damaged("its length is wrong")
	}
	if err := checkStart(data, 164, u32(data, 4), 3); err != nil {
		return nil, err
	}
	var found [][]byte
	crc, end := crc32.Checksum(data[:160], castagnoli), uint64(len(data)-4)
	ascend := true
	for at, before := uint64(160), uint64(0); at < end; {
		if end-at < 20 {
			return nil, damaged("a section's length")
		}
		rotation, length := u64(data, at), u64(data, at+8)
		if length < 4 || length > end-at-16 {
			return nil, damaged("a section's length")
		}
		ascend = ascend && (at == 160 || rotation > before)
		section := data[at+16 : at+16+length]
		crc = crc32.Update(crc, castagnoli, data[at:at+16])
		crc = crc32.Update(crc, castagnoli, section[length-4:])
		found = append(found, section)
		at, before = at+16+length, rotation
	}
	switch {
	case uint64(crc) != u32(data, end):
		return nil, damaged("its checksum is wrong")
	case data[25] == 1:
		return nil, fmt.Errorf("these are changes of a window, and no image")
	case len(found) == 0 || !ascend || int(data[24]) != len(found) || !bytes.Equal(data[25:32], make([]byte, 7)):
		return nil, damaged("the window's header")
	}
	return found, nil
}

func openFilter(data []byte) (filter, error) {
	var one filter
	if !bytes.HasPrefix(data, []byte("CKMS")) {
		return one, fmt.Errorf("no image of a filter")
	}
	if len(data) < 188 {
		return one, damaged("its length is wrong")
	}
	if err := checkStart(data, 188, uint64(data[4]), 4); err != nil {
		return one, err
	}
	one.items, one.kind, one.hashBits, one.seed = u64(data, 16), u64(data, 56), u64(data, 64), u64(data, 72)
	crc, end := crc32.Checksum(data[:184], castagnoli), uint64(len(data)-4)
	start, complete := uint64(0), false
	for at := uint64(184); at < end; {
		next, err := openPiece(data, at, end, one.kind)
		if err != nil {
			return one, err
		}
		hashes := uint64(1) << (32 - next.depth) // in units of 2^32
		if complete || next.start != start<<32 || start%hashes != 0 {
			return one, damaged("a piece's prefix")
		}
		if uint64(crc32.Checksum(data[at:next.end], castagnoli)) != u32(data, next.end) {
			return one, damaged("its checksum is wrong")
		}
		one.pieces = append(one.pieces, next)
		at = next.end + 4
		crc = crc32.Update(crc, castagnoli, data[at-4:at])
		start += hashes
		complete = start == 1<<32
	}
	columns, affinities, collations := u64(data, 88), u64(data, 96), u64(data, 104)
	switch {
	case uint64(crc) != u32(data, end):
		return one, damaged("its checksum is wrong")
	case data[5]&8 != 0:
		return one, fmt.Errorf("these are changes, and no image")
	case data[5] >= 8 || data[6] != 21 || data[7] != 0 || u64(data, 40) != 0 || u64(data, 48) != 0 || !complete ||
		u64(data, 32) != uint64(len(one.pieces)) || columns < 1 || columns > 8 ||
		(one.hashBits != 47 && one.hashBits != 63) || affinities>>(4*columns) != 0 || collations>>(2*columns) != 0:
		return one, damaged("its header")
	}
	for ; columns > 0; columns-- {
		next := column{affinities & 15, collations & 3}
		if next.affinity > 4 {
			return one, damaged(fmt.Sprintf("affinity %d is not known", next.affinity))
		}
		if next.collation > 2 {
			return one, damaged(fmt.Sprintf("collation %d is not known", next.collation))
		}
		one.columns = append(one.columns, next)
		affinities, collations = affinities>>4, collations>>2
	}
	return one, nil
}

func openPiece(data []byte, at, end, kind uint64) (piece, error) {
	p := piece{data: data, kind: kind, cells: at + 64}
	if end-at < 68 {
		return p, damaged("a piece's length")
	}
	p.depth, p.detail, p.shape = uint64(data[at]), uint64(data[at+1]), u32(data, at)>>16
	p.overflows, p.occupied, p.size, p.start = u32(data, at+4), u64(data, at+24), u64(data, at+32), u64(data, at+56)
	hashBytes := u64(data, at+48)
	if p.depth > 30 || p.size == 0 || p.size >= tooLarge || hashBytes >= tooLarge {
		return p, damaged("a piece's header")
	}
	if kind == 1 {
		rankBits := map[uint64]uint64{16: 12, 19: 13, 23: 14, 28: 15}[p.shape]
		p.width = 4*p.detail + rankBits
		if rankBits == 0 || p.width > 128 {
			return p, damaged("a piece's buckets")
		}
		p.values = p.shape<<p.detail - 1
		p.perPage = 8 * 4032 / p.width
	} else {
		p.width = map[uint64]uint64{2: 1, 3: 512, 4: 4, 5: 1}[kind]
		if p.width == 0 || p.detail != 0 || p.shape < 1 || p.shape > 64 || (kind == 3 && p.shape > 4) {
			return p, damaged("a piece's shape")
		}
		p.perPage = 4032 // it does not matter, as pages of bits have no gaps between them
	}
	p.pageBytes = (p.width*p.perPage + 7) / 8
	p.overflow = p.cells
	if p.occupied > 0 {
		p.overflow += p.size/p.perPage*p.pageBytes + (p.width*(p.size%p.perPage)+7)/8
	}
	p.end = p.overflow + 16*p.overflows + hashBytes
	if p.end > end-4 {
		return p, damaged("a piece's length")
	}
	return p, nil
}

func (one *filter) has(hash uint64) bool {
	p := &one.pieces[sort.Search(len(one.pieces), func(i int) bool { return one.pieces[i].start > hash })-1]
	hash <<= p.depth
	switch {
	case p.kind == 1:
		return p.hasFingerprint(hash)
	case p.occupied == 0:
		return false
	case p.kind == 3:
		return p.hasMask(hash)
	}
	return p.hasCells(hash)
}

func (one *filter) hasLegacy(key []byte) bool {
	p := &one.pieces[0]
	h := murmur64a(key, one.seed&math.MaxUint32)
	step := murmur64a(key, (h>>32^h)&math.MaxUint32)
	for i := uint64(0); i < p.shape && p.occupied > 0; i, h = i+1, h+step {
		if p.cell(h%p.size) == 0 {
			return false
		}
	}
	return p.occupied > 0
}

func (p *piece) hasFingerprint(hash uint64) bool {
	bucket1, rest := bits.Mul64(hash, p.size)
	value, _ := bits.Mul64(rest, p.values)
	value++
	bucket2, _ := bits.Mul64(murmurMix(value), p.size)
	if bucket2 < bucket1 {
		bucket2 += p.size
	}
	bucket2 -= bucket1
	if p.occupied > 0 && (p.isIn(bucket1, value) || p.isIn(bucket2, value)) {
		return true
	}
	if bucket2 < bucket1 {
		bucket1 = bucket2
	}
	cell := bucket1*p.values + value - 1
	at := uint64(sort.Search(int(p.overflows), func(i int) bool { return u64(p.data, p.overflow+16*uint64(i)) >= cell }))
	return at < p.overflows && u64(p.data, p.overflow+16*at) == cell
}

func (p *piece) isIn(bucket, value uint64) bool {
	page, bit := p.cells+bucket/p.perPage*p.pageBytes, bucket%p.perPage*p.width
	high, low := uint32(value>>p.detail), value&(1<<p.detail-1)
	highs := ranks[p.bits(page, bit+4*p.detail, p.width-4*p.detail)]
	for slot := 0; slot < 4; slot, bit = slot+1, bit+p.detail {
		if highs>>(5*slot)&31 == high && p.bits(page, bit, p.detail) == low {
			return true
		}
	}
	return false
}

// bits reads up to 29 of them. Behind the cells there are 8 bytes of checksums at least.
func (p *piece) bits(start, bit, width uint64) uint64 {
	at := start + bit/8
	return (u32(p.data, at) | uint64(p.data[at+4])<<32) >> (bit % 8) & (1<<width - 1)
}

// cell is a bit or counter of a Bloom filter.
func (p *piece) cell(number uint64) byte {
	bit := number * p.width
	return p.data[p.cells+bit/8] >> (bit % 8) & (1<<p.width - 1)
}

func (p *piece) hasCells(hash uint64) bool {
	mixed := uint64(0)
	for i := uint64(0); i < p.shape; i++ {
		if i%2 == 0 {
			hash += golden
			mixed = mix64(hash)
		} else {
			mixed = bits.RotateLeft64(mixed, 32)
		}
		if place, _ := bits.Mul64(mixed, p.size); p.cell(place) == 0 {
			return false
		}
	}
	return true
}

func (p *piece) hasMask(hash uint64) bool {
	mask := hash
	for i := uint64(0); i < p.shape; i++ {
		first := p.size * i / p.shape
		block, _ := bits.Mul64(mask, p.size*(i+1)/p.shape-first)
		hash += golden
		mask = mix64(hash)
		for lane, at := uint64(0), p.cells+64*(first+block); lane < 8; lane, at = lane+1, at+8 {
			if u64(p.data, at)>>(mask>>(6*lane)&63)&1 == 0 {
				return false
			}
		}
	}
	return true
}

// ranks[rank]: the four highs of a bucket, five bits each, the lowest one first.
var ranks = func() (all [1 << 15]uint32) {
	rank := 0
	for d := uint32(0); d < 28; d++ {
		for c := uint32(0); c <= d; c++ {
			for b := uint32(0); b <= c; b++ {
				for a := uint32(0); a <= b; a++ {
					all[rank] = a | b<<5 | c<<10 | d<<15
					rank++
				}
			}
		}
	}
	return all
}()

var (
	integerText = regexp.MustCompile(`^[\t-\r ]*([+-]?[0-9]+)[\t-\r ]*$`)
	numberText  = regexp.MustCompile(`^[\t-\r ]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[\t-\r ]*$`)
)

// keyOf is what the column makes of a value: its type (0 INTEGER, 1 REAL, 2 TEXT, 3 BLOB, -1 NULL) and its bytes,
// behind those of room.
func (c column) keyOf(value any, room []byte) (int, []byte, error) {
	switch v := value.(type) {
	case nil:
		return -1, nil, nil
	case string:
		return c.keyOfText(v, room)
	case []byte:
		return blobType, append(room, v...), nil
	case float64:
		return c.keyOfReal(v, room)
	case int:
		return c.keyOfInteger(int64(v), room)
	case int64:
		return c.keyOfInteger(v, room)
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Bool:
		return c.keyOfInteger(map[bool]int64{true: 1}[v.Bool()], room)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return c.keyOfInteger(v.Int(), room)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			return -1, nil, fmt.Errorf("%d: an INTEGER has 64 bits, with its sign", v.Uint())
		}
		return c.keyOfInteger(int64(v.Uint()), room)
	case reflect.String:
		return c.keyOfText(v.String(), room)
	case reflect.Float32:
		return c.keyOfReal(v.Float(), room)
	}
	return -1, nil, fmt.Errorf("a key is an integer, a float, a string, a []byte or nil, not %T", value)
}

func (c column) keyOfInteger(value int64, room []byte) (int, []byte, error) {
	if c.affinity == 1 {
		return c.collated(strconv.FormatInt(value, 10), room)
	}
	if c.affinity == 4 {
		return c.keyOfReal(float64(value), room)
	}
	return 0, word(uint64(value), room), nil
}

func (c column) keyOfReal(value float64, room []byte) (int, []byte, error) {
	switch {
	case value != value:
		return -1, nil, nil
	case c.affinity == 1:
		return c.collated(textOfReal(value), room)
	case value >= -1<<63 && value < 1<<63 && value == math.Trunc(value):
		return 0, word(uint64(int64(value)), room), nil
	}
	return 1, word(math.Float64bits(value), room), nil
}

func (c column) keyOfText(text string, room []byte) (int, []byte, error) {
	if c.affinity > 1 {
		if found := integerText.FindStringSubmatch(text); found != nil {
			if value, err := strconv.ParseInt(found[1], 10, 64); err == nil {
				return c.keyOfInteger(value, room)
			}
		}
		if found := numberText.FindStringSubmatch(text); found != nil {
			value, _ := strconv.ParseFloat(found[1], 64) // what is too large becomes an infinity
			return c.keyOfReal(value, room)
		}
	}
	return c.collated(text, room)
}

func (c column) collated(text string, room []byte) (int, []byte, error) {
	if c.collation == 2 {
		text = strings.TrimRight(text, " ")
	}
	start := len(room)
	room = append(room, text...)
	if c.collation == 1 {
		ended := false
		for i := start; i < len(room); i++ {
			ended = ended || room[i] == 0
			if ended {
				room[i] = 0
			} else if room[i] >= 'A' && room[i] <= 'Z' {
				room[i] += 'a' - 'A'
			}
		}
	}
	return textType, room, nil
}

func word(value uint64, room []byte) []byte {
	room = append(room, 0, 0, 0, 0, 0, 0, 0, 0)
	binary.LittleEndian.PutUint64(room[len(room)-8:], value)
	return room
}

// textOfReal is as SQLite casts a REAL to TEXT, up to 15 digits. (Newer versions of SQLite write up to 17.)
func textOfReal(real float64) string {
	sign, size := "", math.Abs(real)
	if real < 0 {
		sign = "-"
	}
	if math.IsInf(size, 0) {
		return sign + "Inf"
	}
	exact := strconv.FormatFloat(size, 'e', 800, 64)
	if strings.Trim(exact[16:802], "0") == "5" {
		size = math.Nextafter(size, math.Inf(1)) // a half is rounded up
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(size, 'e', 14, 64), "e")
	digits = strings.TrimRight(digits[:1]+digits[2:], "0")
	power, _ := strconv.Atoi(exponent)
	switch {
	case digits == "":
		return "0.0"
	case power < -4 || power > 14:
		if len(digits) == 1 {
			digits += "0"
		}
		return sign + digits[:1] + "." + digits[1:] + "e" + exponent
	case power < 0:
		return sign + "0." + strings.Repeat("0", -power-1) + digits
	}
	for len(digits) < power+2 {
		digits += "0"
	}
	return sign + digits[:power+1] + "." + digits[power+1:]
}

func mix64(x uint64) uint64 { // the finalizer of SplitMix64
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

func murmurMix(x uint64) uint64 { // the finalizer of MurmurHash3
	x = (x ^ x>>33) * 0xFF51AFD7ED558CCD
	x = (x ^ x>>33) * 0xC4CEB9FE1A85EC53
	return x ^ x>>33
}

func murmur64a(data []byte, seed uint64) uint64 {
	const m = 0xC6A4A7935BD1E995
	h := seed ^ uint64(len(data))*m
	for ; len(data) >= 8; data = data[8:] {
		k := u64(data, 0) * m
		h = (h ^ (k^k>>47)*m) * m
	}
	if len(data) > 0 {
		var last [8]byte
		copy(last[:], data)
		h = (h ^ u64(last[:], 0)) * m
	}
	h = (h ^ h>>47) * m
	return h ^ h>>47
}

// XXH3, by https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
const (
	prime32x1, prime32x2, prime32x3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
	prime64x1, prime64x2, prime64x3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
	prime64x4, prime64x5            = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
)

var secret = []byte("" +
	"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb" +
	"\x72\x40\xa4\xa4\xb7\xb3\x67\x1f\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21" +
	"\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c\x3c\x28\x52\xbb\x91\xc3\x00\xcb" +
	"\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8" +
	"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31" +
	"\xc8\x9f\x7e\xc9\xd9\x78\x73\x64\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb" +
	"\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e\x2b\x16\xbe\x58\x7d\x47\xa1\xfc" +
	"\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e")

func xxh3(data []byte, seed uint64) uint64 {
	size := uint64(len(data))
	switch {
	case size == 0:
		return avalanche64(seed ^ u64(secret, 56) ^ u64(secret, 64))
	case size < 4:
		combined := uint64(data[size-1]) | size<<8 | uint64(data[0])<<16 | uint64(data[size/2])<<24
		return avalanche64((u32(secret, 0) ^ u32(secret, 4)) + seed ^ combined)
	case size <= 8:
		seed ^= uint64(bits.ReverseBytes32(uint32(seed))) << 32
		x := (u64(secret, 8) ^ u64(secret, 16)) - seed ^ (u32(data, size-4) | u32(data, 0)<<32)
		x = (x ^ bits.RotateLeft64(x, 49) ^ bits.RotateLeft64(x, 24)) * 0x9FB21C651E98DF25
		x = (x ^ (x>>35 + size)) * 0x9FB21C651E98DF25
		return x ^ x>>28
	case size <= 16:
		low := (u64(secret, 24) ^ u64(secret, 32)) + seed ^ u64(data, 0)
		high := (u64(secret, 40) ^ u64(secret, 48)) - seed ^ u64(data, size-8)
		return avalanche(size + bits.ReverseBytes64(low) + high + fold(low, high))
	case size > 240:
		return xxh3Long(data, seed)
	}
	sum := size * prime64x1
	if size <= 128 {
		for i := uint64(0); 32*i < size; i++ {
			sum += mixed(data, 16*i, 32*i, seed) + mixed(data, size-16*i-16, 32*i+16, seed)
		}
		return avalanche(sum)
	}
	for i := uint64(0); i < 8; i++ {
		sum += mixed(data, 16*i, 16*i, seed)
	}
	sum = avalanche(sum)
	for i := uint64(8); 16*i+16 <= size; i++ {
		sum += mixed(data, 16*i, 16*(i-8)+3, seed)
	}
	return avalanche(sum + mixed(data, size-16, 119, seed))
}

func xxh3Long(data []byte, seed uint64) uint64 {
	var seeded []byte
	for at := uint64(0); at < 192; at += 16 {
		seeded = word(u64(secret, at+8)-seed, word(u64(secret, at)+seed, seeded))
	}
	sums := [8]uint64{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	size := uint64(len(data))
	last := (size - 1) / 64
	for stripe := uint64(0); stripe <= last; stripe++ {
		at, words := 64*stripe, stripe%16*8
		if stripe == last {
			at, words = size-64, 121
		}
		for i := uint64(0); i < 8; i++ {
			lane := u64(data, at+8*i)
			x := lane ^ u64(seeded, words+8*i)
			sums[i^1] += lane
			sums[i] += x & math.MaxUint32 * (x >> 32)
		}
		for i := uint64(0); i < 8 && stripe%16 == 15 && stripe < last; i++ {
			sums[i] = (sums[i] ^ sums[i]>>47 ^ u64(seeded, 128+8*i)) * prime32x1
		}
	}
	sum := size * prime64x1
	for i := uint64(0); i < 8; i += 2 {
		sum += fold(sums[i]^u64(seeded, 11+8*i), sums[i+1]^u64(seeded, 19+8*i))
	}
	return avalanche(sum)
}

func mixed(data []byte, at, words, seed uint64) uint64 {
	return fold(u64(data, at)^(u64(secret, words)+seed), u64(data, at+8)^(u64(secret, words+8)-seed))
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func avalanche(x uint64) uint64 {
	x = (x ^ x>>37) * 0x165667919E3779F9
	return x ^ x>>32
}

func avalanche64(x uint64) uint64 { // that of XXH64
	x = (x ^ x>>33) * prime64x2
	x = (x ^ x>>29) * prime64x3
	return x ^ x>>32
}
