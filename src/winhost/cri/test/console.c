// console.exe: a program of the tests' Windows image. Asks its console by the calls of .NET, libuv and Go, and prints what it answers.
#include <stdio.h>
#include <string.h>
#include <windows.h>

static HANDLE input, output;

static DWORD error_of(BOOL done) { return done ? 0 : GetLastError(); }

static void print_state(void) {
    DWORD in_mode = 0, out_mode = 0;
    CONSOLE_SCREEN_BUFFER_INFO info = {{0}};
    printf("types: %lu %lu\n", GetFileType(input), GetFileType(output));
    printf("modes: %lu", error_of(GetConsoleMode(input, &in_mode)));
    printf(" %lu", error_of(GetConsoleMode(output, &out_mode)));
    printf(", lines %d, processed %d\n", (in_mode & ENABLE_LINE_INPUT) != 0, (out_mode & ENABLE_PROCESSED_OUTPUT) != 0);
    printf("sequences: %lu", error_of(SetConsoleMode(output, out_mode | 4)));
    GetConsoleMode(output, &out_mode);
    printf(" %lu\n", out_mode & 4);
    printf("buffer: %lu", error_of(GetConsoleScreenBufferInfo(output, &info)));
    printf(", %d columns\n", info.srWindow.Right - info.srWindow.Left + 1);
    printf("code page: %lu", error_of(SetConsoleOutputCP(CP_UTF8)));
    printf(" %u\n", GetConsoleOutputCP());
}

static HANDLE open(const char* name) { return CreateFileA(name, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL); }

static void type_keys(const wchar_t* text) {
    INPUT_RECORD keys[16];
    DWORD count = 0, written;
    memset(keys, 0, sizeof keys);
    for (; text[count]; ++count) {
        keys[count].EventType = KEY_EVENT;
        keys[count].Event.KeyEvent.bKeyDown = TRUE;
        keys[count].Event.KeyEvent.wRepeatCount = 1;
        keys[count].Event.KeyEvent.uChar.UnicodeChar = text[count];
        if (text[count] == '\r') keys[count].Event.KeyEvent.wVirtualKeyCode = VK_RETURN;
    }
    WriteConsoleInputW(input, keys, count, &written);
}

/// .NET and libuv read key by key, Go lines of bytes.
static void read_keys(void) {
    INPUT_RECORD record;
    DWORD mode = 0, count = 0;
    wchar_t text[16] = L"";
    char bytes[16] = "";
    GetConsoleMode(input, &mode);
    FlushConsoleInputBuffer(input);
    printf("nothing typed: wait %lu", WaitForSingleObject(input, 0));
    type_keys(L"k");
    printf(", a key: wait %lu", WaitForSingleObject(input, 10000));
    printf(", peek %lu", error_of(PeekConsoleInputW(input, &record, 1, &count)));
    printf(" %lu", count);
    printf(", read %lu", error_of(ReadConsoleInputW(input, &record, 1, &count)));
    printf(" %c\n", (char)record.Event.KeyEvent.uChar.UnicodeChar);
    SetConsoleMode(input, 0);
    type_keys(L"\u00fc");
    printf("raw: %lu", error_of(ReadConsoleW(input, text, 8, &count, NULL)));
    printf(" %lu of %x\n", count, text[0]);
    SetConsoleMode(input, mode & ~ENABLE_ECHO_INPUT);
    type_keys(L"line\r");
    printf("line: %lu", error_of(ReadFile(input, bytes, sizeof bytes, &count, NULL)));
    printf(" %lu bytes\n", count);
    SetConsoleMode(input, mode);
}

int main(void) {
    DWORD written = 0;
    setvbuf(stdout, NULL, _IOLBF, 4096);
    input = GetStdHandle(STD_INPUT_HANDLE);
    output = GetStdHandle(STD_OUTPUT_HANDLE);
    print_state();
    printf("devices: %d %d\n", open("CONIN$") != INVALID_HANDLE_VALUE, open("CONOUT$") != INVALID_HANDLE_VALUE);
    WriteConsoleW(output, L"gr\u00fc\u00df\r\n", 6, &written, NULL);
    printf("written: %lu\n", written);
    read_keys();
    return 0;
}
