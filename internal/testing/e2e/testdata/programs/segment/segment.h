// What the C of program segment offers to Go.
int canWrite(void);
void chooseWay(int instruction);
void use(void);
void drop(void);
void isDropped(void);
void interrupted(void);
void callBack(int n);
void changeWithin(int n);
void onThreads(int threads, int n);
void sayEnd(void);
int ended(void);
