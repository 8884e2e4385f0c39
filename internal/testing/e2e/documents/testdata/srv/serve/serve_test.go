package serve

import "testing"

func TestPay(t *testing.T) {
	if pay(1) == nil || pay(2) != nil {
		t.Error("order 1, and no other, is without funds")
	}
}
