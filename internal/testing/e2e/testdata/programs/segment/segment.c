// C with a block of its own for each thread, to which the segment base GS leads.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "segment.h"
#include "_cgo_export.h"

struct block { struct block *self; };

static __thread struct block *mine; // what this thread's base leads to, or NULL if C has set none
static int byInstruction;
static int ends;
static pthread_key_t atEnd;

static void fail(const char *what) {
	fprintf(stderr, "%s\n", what);
	_exit(3);
}

static void *base(void) {
	void *p;
	if (syscall(SYS_arch_prctl, 0x1004 /* ARCH_GET_GS */, &p) != 0)
		fail("arch_prctl");
	return p;
}

static void setBase(void *p) {
	if (byInstruction)
		__asm__ volatile("wrgsbase %0" : : "r"(p) : "memory");
	else if (syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, p) != 0)
		fail("arch_prctl");
}

static void check(const char *where) {
	struct block *self;
	if (mine == NULL)
		return;
	if (base() != mine)
		fail(where);
	__asm__ volatile("movq %%gs:0, %0" : "=r"(self));
	if (self != mine)
		fail(where);
}

// The first thread has a base before Go begins.
__attribute__((constructor)) static void early(void) { use(); }

// canWrite tells whether the kernel allows the instruction.
int canWrite(void) { return (getauxval(AT_HWCAP2) & 2) != 0; }

void chooseWay(int instruction) { byInstruction = instruction; }

// use gives this thread a block at its first call, and checks at others that it is there.
void use(void) {
	check("a call has another base than C left");
	if (mine != NULL)
		return;
	mine = malloc(sizeof *mine);
	mine->self = mine;
	setBase(mine);
}

// drop takes the base away.
void drop(void) {
	check("a base that is dropped is another one");
	mine = NULL;
	setBase(NULL);
}

void isDropped(void) {
	if (mine == NULL && base() != NULL)
		fail("a base that was dropped is there again");
}

static void handler(int sig) { check("a handler that interrupts C has another base"); }

void interrupted(void) {
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	use();
	sigaction(SIGUSR2, &act, NULL);
	raise(SIGUSR2);
	use();
}

// callBack calls Go with a base, and finds it after each call.
void callBack(int n) {
	int i;
	use();
	for (i = 0; i < n; i++) {
		goCalled(i);
		check("a callback has changed the base");
	}
}

// changeWithin finds the base that a callback has set by a call of its own.
void changeWithin(int n) {
	int i;
	for (i = 0; i < n; i++) {
		use();
		goDrops();
		isDropped();
		goUses();
		if (mine == NULL)
			fail("a callback has set no base");
		check("a base that a callback has set is lost");
	}
}

static void *thread(void *arg) {
	int n = *(int *)arg;
	if (n % 2)
		use();
	callBack(n);
	drop();
	goCalled(n);
	isDropped();
	return NULL;
}

// onThreads has threads of its own that call back.
void onThreads(int threads, int n) {
	pthread_t t[16];
	int i;
	for (i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, thread, &n);
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

static void destructor(void *unused) {
	check("a destructor has another base");
	__atomic_add_fetch(&ends, 1, __ATOMIC_SEQ_CST);
}

// sayEnd has this thread counted when it ends.
void sayEnd(void) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	extern void makeKey(void);
	use();
	pthread_once(&once, makeKey);
	pthread_setspecific(atEnd, &ends);
}

void makeKey(void) { pthread_key_create(&atEnd, destructor); }

int ended(void) { return __atomic_load_n(&ends, __ATOMIC_SEQ_CST); }
