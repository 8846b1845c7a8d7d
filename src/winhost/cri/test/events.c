// events.exe: a program of the tests' Windows image. Reports events, and asks for those of others.
#include <stdio.h>
#include <windows.h>
#include <winevt.h>

static void* function(const char* name) { return (void*)GetProcAddress(LoadLibraryA("wevtapi.dll"), name); }

static void report(void) {
    const char* plain[] = {"two\r\nlines", "and more"};
    const wchar_t* wide[] = {L"gr\u00fc\u00df \U0001f600"};
    static wchar_t long_text[5000];
    const wchar_t* long_texts[] = {long_text};
    const HANDLE source = RegisterEventSourceW(NULL, L"shop"), other = RegisterEventSourceA(NULL, "other");
    for (int i = 0; i + 1 < 5000; ++i) long_text[i] = L'x';
    BOOL done = ReportEventA(source, EVENTLOG_ERROR_TYPE, 0, 0xC0000007, NULL, 2, 0, plain, NULL);
    printf("reported: %d", done);
    printf(" %d", ReportEventW(other, EVENTLOG_WARNING_TYPE, 3, 1000, NULL, 1, 0, wide, NULL));
    printf(" %d", ReportEventW(other, EVENTLOG_INFORMATION_TYPE, 0, 0, NULL, 0, 0, NULL, NULL));
    printf(" %d", ReportEventW(source, EVENTLOG_SUCCESS, 0, 1, NULL, 1, 0, long_texts, NULL));
    printf(", closed: %d %d", DeregisterEventSource(source), DeregisterEventSource(other));
    done = ReportEventA(source, EVENTLOG_ERROR_TYPE, 0, 1, NULL, 0, 0, NULL, NULL);
    printf(", after that: %d error %lu", done, GetLastError());
    done = DeregisterEventSource(NULL);
    printf(", of nothing: %d error %lu\n", done, GetLastError());
}

static void ask(void) {
    EVT_HANDLE(WINAPI * query)(EVT_HANDLE, LPCWSTR, LPCWSTR, DWORD) = function("EvtQuery");
    EVT_HANDLE(WINAPI * subscribe)(EVT_HANDLE, HANDLE, LPCWSTR, LPCWSTR, EVT_HANDLE, void*, void*, DWORD) = function("EvtSubscribe");
    char bytes[1024];
    DWORD count = 9, size, needed;
    const HANDLE log = OpenEventLogA(NULL, "Application");
    GetNumberOfEventLogRecords(log, &count);
    printf("log: %lu records", count);
    const BOOL done = ReadEventLogA(log, EVENTLOG_SEQUENTIAL_READ | EVENTLOG_FORWARDS_READ, 0, bytes, sizeof bytes, &size, &needed);
    printf(", read %d error %lu", done, GetLastError());
    const EVT_HANDLE found = query(NULL, L"Application", L"*", EvtQueryChannelPath);
    printf(", query %d error %lu", found != NULL, GetLastError());
    const EVT_HANDLE subscribed = subscribe(NULL, NULL, L"System", L"*", NULL, NULL, NULL, EvtSubscribeToFutureEvents);
    printf(", subscribe %d error %lu\n", subscribed != NULL, GetLastError());
}

int main(void) {
    report();
    ask();
    return 0;
}
