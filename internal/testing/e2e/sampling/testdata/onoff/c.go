//go:build cgo

package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

extern void goWork(void);

static void *threadOfC(void *arg) {
	if (arg) {
		sigset_t all;
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, 0);
	}
	for (int i = 0; i < 20; i++) {
		goWork();
		volatile long n = 0;
		for (int k = 0; k < 100000; k++)
			n += k;
	}
	return 0;
}

static int threadsOfC(void) {
	pthread_t t[4];
	for (long i = 0; i < 4; i++)
		if (pthread_create(&t[i], 0, threadOfC, (void *)(i % 2)))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return 0;
}
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"time"
)

//export goWork
func goWork() { sink += spin(100000) }

func startC(wg *sync.WaitGroup) {
	beside(wg, func() {
		if C.threadsOfC() != 0 {
			fmt.Println("no thread")
			os.Exit(3)
		}
		nap(5 * time.Millisecond)
	})
}
