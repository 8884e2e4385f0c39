package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"
	"math/big"

	"github.com/zeebo/blake3"
	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// digests hashes the input in several ways at once and many short messages,
// and returns 64 bytes that the rest of round i takes its keys from.
func digests(sum hash.Hash, input []byte, i int) []byte {
	all := []hash.Hash{sha256.New(), sha512.New(), sha3.New256(), blake3.New(), adler32.New(), crc32.NewIEEE()}
	writers := make([]io.Writer, len(all))
	for k, h := range all {
		writers[k] = h
	}
	// Writes to a hash do not fail.
	_, _ = io.MultiWriter(writers...).Write(input)
	for _, h := range all {
		sum.Write(h.Sum(nil))
	}
	short := fmt.Appendf(nil, "round %d", i)
	for range 20000 {
		mac := hmac.New(sha256.New, short)
		mac.Write(short)
		short = mac.Sum(short[:0])
	}
	return argon2.IDKey(short, input[:16], 1, 4<<10, 2, 64)
}

// seal encrypts and decrypts the input in records of 700 bytes.
func seal(sum hash.Hash, key, input []byte) error {
	block, err := aes.NewCipher(key[:32])
	if err != nil {
		return err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	chacha, err := chacha20poly1305.New(key[32:])
	if err != nil {
		return err
	}
	const record = 700
	var nonce [12]byte
	var outer, inner, plain []byte
	for k := 0; k+record <= len(input); k += record {
		nonce[k>>4&7] ^= byte(k)
		inner = gcm.Seal(inner[:0], nonce[:], input[k:k+record], nil)
		outer = chacha.Seal(outer[:0], nonce[:], inner, nonce[:4])
		sum.Write(outer[record:])
		if inner, err = chacha.Open(inner[:0], nonce[:], outer, nonce[:4]); err != nil {
			return err
		}
		if plain, err = gcm.Open(plain[:0], nonce[:], inner, nil); err != nil {
			return err
		}
	}
	sum.Write(plain)
	return nil
}

// sign makes and checks signatures with Ed25519.
func sign(sum hash.Hash, key []byte) error {
	priv := ed25519.NewKeyFromSeed(key[:32])
	pub := priv.Public().(ed25519.PublicKey)
	for i := range 300 {
		sig := ed25519.Sign(priv, key[:i%64])
		if !ed25519.Verify(pub, key[:i%64], sig) {
			return errors.New("signature does not verify")
		}
		sum.Write(sig[:16])
	}
	return nil
}

// agree makes shared secrets over X25519 and P-256, and raises numbers to
// powers modulo a large prime.
func agree(sum hash.Hash, key []byte) error {
	for _, curve := range []ecdh.Curve{ecdh.X25519(), ecdh.P256()} {
		a, err := curve.NewPrivateKey(key[:32])
		if err != nil {
			return err
		}
		b, err := curve.NewPrivateKey(key[32:])
		if err != nil {
			return err
		}
		for range 150 {
			secret, err := a.ECDH(b.PublicKey())
			if err != nil {
				return err
			}
			sum.Write(secret)
		}
	}
	// The Mersenne prime 2^2203 - 1.
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 2203), big.NewInt(1))
	x := new(big.Int).SetBytes(key)
	for range 15 {
		x.Exp(x, new(big.Int).SetBytes(key), p)
	}
	sum.Write(x.Bytes())
	return nil
}
