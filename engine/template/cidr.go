package template

import (
	"fmt"
	"math/big"
	"net/netip"
)

// cidr cuts count blocks with bits host bits each from a block of addresses.
func (e *evaluation) cidr(arg any, at *place) (any, error) {
	list, err := args(arg, 3, 3)
	if err != nil {
		return nil, fmt.Errorf("want a block, a count and a number of bits: %w", err)
	}
	v, err := e.value(list[0], at.item(0))
	if err != nil {
		return nil, err
	}
	block, _, err := plain(v)
	if err != nil {
		return nil, at.item(0).wrap(err)
	}
	count, err := e.integer(list[1], at.item(1))
	if err != nil {
		return nil, err
	}
	bits, err := e.integer(list[2], at.item(2))
	if err != nil {
		return nil, err
	}
	return cut(block, count, bits)
}

func cut(block string, count, bits int) ([]any, error) {
	prefix, err := netip.ParsePrefix(block)
	if err != nil {
		return nil, fmt.Errorf("%q is not a block of addresses such as 10.0.0.0/16", block)
	}
	prefix = prefix.Masked()
	total := prefix.Addr().BitLen()
	free := total - prefix.Bits()
	if count < 1 || count > 256 {
		return nil, fmt.Errorf("want 1 to 256 blocks, got %d", count)
	}
	if bits < 1 || bits > free {
		return nil, fmt.Errorf("%s leaves 1 to %d bits for a block, got %d", block, free, bits)
	}
	if fits := free - bits; fits < 8 && count > 1<<fits {
		return nil, fmt.Errorf("%s holds %d blocks of %d bits, not %d", block, 1<<fits, bits, count)
	}
	base := new(big.Int).SetBytes(prefix.Addr().AsSlice())
	step := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	out := make([]any, count)
	for i := range out {
		addr, _ := netip.AddrFromSlice(base.FillBytes(make([]byte, total/8)))
		out[i] = netip.PrefixFrom(addr, total-bits).String()
		base.Add(base, step)
	}
	return out, nil
}
