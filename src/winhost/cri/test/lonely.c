// A program that needs a DLL which is nowhere: its node says which.
__declspec(dllimport) int do_nothing(void);

int main(void) { return do_nothing(); }
