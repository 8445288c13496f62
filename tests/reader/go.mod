module check

go 1.19

require cuckooreader v0.0.0

replace cuckooreader => ../../packages/reader
