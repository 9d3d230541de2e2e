package slot

const polynomial = 0x1021

// crcTable holds the checksum of each single byte.
var crcTable = makeTable()

func makeTable() (table [256]uint16) {
	for b := range table {
		crc := uint16(b) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= polynomial
			}
		}
		table[b] = crc
	}
	return table
}

// crc16 returns the CRC-16/XMODEM of s: polynomial 0x1021, initial value 0, nothing reflected, nothing inverted.
func crc16(s string) (crc uint16) {
	for i := range len(s) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^s[i]]
	}
	return crc
}
