// Program closes closes descriptors that it has not opened, those of segments, and opens files of its own in their
// place. It makes many contexts meanwhile, until its standard input ends, and says then what its files have.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const depth = 24

// step calls itself by one of two sites, as the lowest bit of path says.
func step(path, n uint32) {
	switch {
	case n == 0:
	case path&1 == 0:
		step(path>>1, n-1)
	default:
		step(path>>1, n-1)
	}
}

const mine = "mine\n"

// take closes a descriptor, and opens a file that has its number, if it can. Who was about to use the descriptor just
// then has done so when the file gets what it is to have.
func take(fd int, name string) bool {
	if syscall.Close(fd) != nil {
		return false
	}
	for {
		have, err := syscall.Open(name, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
		if err != nil || have > fd {
			return false
		}
		if have == fd {
			break
		}
	}
	time.Sleep(3 * time.Millisecond)
	_, err := syscall.Pwrite(fd, []byte(mine), 0)
	return err == nil && syscall.Ftruncate(fd, int64(len(mine))) == nil
}

func main() {
	var end atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		end.Store(true)
	}()
	go func() {
		for n := uint64(0); ; n++ {
			step(uint32(n%20_000)*2654435761, depth)
		}
	}()
	taken := 0
	for !end.Load() && taken < 20 {
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, path := range fds {
			link, _ := os.Readlink(path)
			fd, _ := strconv.Atoi(filepath.Base(path))
			isDir := strings.Contains(filepath.Base(link), ".0000")
			if strings.Contains(link, ".0000") && isDir == (taken%4 == 3) && take(fd, fmt.Sprint("own", taken)) {
				taken++
			}
		}
	}
	for i := range taken {
		if b, err := os.ReadFile(fmt.Sprint("own", i)); string(b) != mine {
			fmt.Printf("own%d has %d bytes, %v\n", i, len(b), err)
		}
	}
	fmt.Println(taken, "taken")
}
