// supplement.exe: a program of the tests' Windows image. Calls the functions that Wine's DLLs lack, and prints what they answer.
#include <winsock2.h>
#include <windows.h>
#include <iphlpapi.h>
#include <oleauto.h>
#include <stdio.h>
#include <wincrypt.h>

typedef LONG(NTAPI* flush_function)(HANDLE, ULONG, void*, ULONG, void*);
typedef DWORD(WINAPI* anycast_function)(ADDRESS_FAMILY, void**);
typedef BOOL(WINAPI* engine_function)(void*, void**);
typedef HRESULT(WINAPI* text_function)(const VARIANT*, wchar_t*, UINT);

static void* function(const char* dll, const char* name) { return (void*)GetProcAddress(LoadLibraryA(dll), name); }

static HANDLE open(DWORD access, const char* path) {
    return CreateFileA(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_ALWAYS, FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

static void flush(HANDLE writable, HANDLE readable) {
    const flush_function flush = (flush_function)function("ntdll.dll", "NtFlushBuffersFileEx");
    void* status[2];
    for (ULONG flags = 0; flags <= 4; ++flags) printf("flush %lu: %08lx\n", flags, flush(writable, flags, NULL, 0, status));
    printf("flush with parameters: %08lx\n", flush(writable, 0, status, sizeof status, status));
    printf("flush without access: %08lx\n", flush(readable, 0, NULL, 0, status));
}

static void size_on_disk(const char* what, HANDLE file) {
    FILE_COMPRESSION_INFO info;
    memset(&info, 0xFF, sizeof info);
    if (!GetFileInformationByHandleEx(file, FileCompressionInfo, &info, sizeof info)) printf("%s: error %lu\n", what, GetLastError());
    else printf("%s: %lld bytes, format %u, reserved %u\n", what, info.CompressedFileSize.QuadPart, info.CompressionFormat, info.Reserved[2]);
}

static void files(void) {
    HANDLE file = open(GENERIC_READ | GENERIC_WRITE, "flushed"), readable = open(GENERIC_READ, "flushed");
    FILE_STANDARD_INFO standard;
    FILE_COMPRESSION_INFO info;
    DWORD written;
    WriteFile(file, "0123456789", 10, &written, NULL);
    flush(file, readable);
    size_on_disk("file", file);
    size_on_disk("folder", open(GENERIC_READ, "."));
    size_on_disk("no file", INVALID_HANDLE_VALUE);
    if (!GetFileInformationByHandleEx(file, FileCompressionInfo, &info, 8)) printf("short: error %lu\n", GetLastError());
    GetFileInformationByHandleEx(file, FileStandardInfo, &standard, sizeof standard);
    printf("size: %lld\n", standard.EndOfFile.QuadPart);
    SetFilePointer(file, 1 << 30, NULL, FILE_BEGIN);
    SetEndOfFile(file);
    GetFileInformationByHandleEx(file, FileCompressionInfo, &info, sizeof info);
    printf("holes: %s\n", info.CompressedFileSize.QuadPart < 1 << 20 ? "not on disk" : "on disk");
}

static void addresses(void) {
    const anycast_function table_of = (anycast_function)function("iphlpapi.dll", "GetAnycastIpAddressTable");
    void* table = &table;
    printf("anycast: %lu %lu", table_of(AF_UNSPEC, NULL), table_of(99, &table));
    printf(" %lu", table_of(AF_INET6, &table));
    printf(" %p\n", table);
}

static void processors(void) {
    USHORT count = 0, groups[2] = {9, 9};
    BOOL done = GetProcessGroupAffinity(GetCurrentProcess(), &count, NULL);
    printf("groups: %d error %lu, %u wanted", done, GetLastError(), count);
    count = 2;
    done = GetProcessGroupAffinity(GetCurrentProcess(), &count, groups);
    printf("; %d, %u, %u", done, count, groups[0]);
    done = GetProcessGroupAffinity(NULL, &count, groups);
    printf("; %d error %lu\n", done, GetLastError());
}

/// What is given back stays free for its owner, whatever Wine itself needs meanwhile.
static void memory(void) {
    const SIZE_T part = 4 << 20, parts = 16384;
    char* place = VirtualAllocEx(GetCurrentProcess(), NULL, part * parts, MEM_RESERVE | MEM_TOP_DOWN, PAGE_READWRITE);
    SIZE_T taken = 0;
    VirtualFree(place, 0, MEM_RELEASE);
    while (taken < parts && VirtualAllocEx(GetCurrentProcess(), place + part * taken, part, MEM_RESERVE, PAGE_READWRITE)) ++taken;
    printf("memory: %llu of %llu parts, below the top: %d\n", taken, parts, (ULONG_PTR)place < 0x400000000000);
}

static void certificates(void) {
    const engine_function make = (engine_function)function("crypt32.dll", "CertCreateCertificateChainEngine");
    struct {
        DWORD size;
        HCERTSTORE restricted[3];
        DWORD count;
        HCERTSTORE* additional;
        DWORD numbers[4];
        HCERTSTORE exclusive[2];
        DWORD flags;
    } config = {.size = sizeof config};
    void* engine = NULL;
    BOOL done = make(&config, &engine);
    printf("engine of %lu: %d %d", config.size, done, engine != NULL);
    config.flags = 1;
    done = make(&config, &engine);
    printf("; %d error %08lx", done, GetLastError());
    config.size = 64;
    printf("; of %lu: %d\n", config.size, make(&config, &engine));
}

/// Of a socket of this type: 0, or why it does not take the option.
static int fast_loopback(int type) {
    SOCKET made = socket(AF_INET, type, 0);
    BOOL on = TRUE;
    DWORD returned = 9;
    return WSAIoctl(made, _WSAIOW(IOC_VENDOR, 16), &on, sizeof on, NULL, 0, &returned, NULL, NULL) == 0 ? (int)returned : WSAGetLastError();
}

static void sockets(void) {
    WSADATA data;
    WSAStartup(MAKEWORD(2, 2), &data);
    printf("fast loopback: %d, of a datagram socket %d\n", fast_loopback(SOCK_STREAM), fast_loopback(SOCK_DGRAM));
}

static void text_of(VARIANT value, UINT size) {
    const text_function convert = (text_function)function("propsys.dll", "VariantToString");
    wchar_t text[20] = L"unset";
    const HRESULT result = convert(&value, text, size);
    printf("; %08lx \"%ls\"", result, text);
}

static void texts(void) {
    printf("texts");
    text_of((VARIANT){.vt = VT_I4, .lVal = -20348}, 20);
    text_of((VARIANT){.vt = VT_BOOL, .boolVal = VARIANT_TRUE}, 20);
    text_of((VARIANT){.vt = VT_NULL}, 20);
    text_of((VARIANT){.vt = VT_BSTR, .bstrVal = SysAllocString(L"Microsoft")}, 10);
    text_of((VARIANT){.vt = VT_BSTR, .bstrVal = SysAllocString(L"Microsoft")}, 9);
    printf("\n");
}

int main(void) {
    texts();
    files();
    sockets();
    addresses();
    processors();
    memory();
    certificates();
    return 0;
}
