// wine_supplement.dll: functions that Wine's own DLLs lack, or that lack something there. The template makes those DLLs forward them to
// here (root_builder.cc), so that only programs which ask for one load this one, and keep theirs under a name with "wine_" before it.
//
// What each is for stands with it; docs/guide/windows_programs.md has the programs.
#include <winsock2.h>  // before windows.h

#include <windows.h>
#include <ws2ipdef.h>

#include <iphlpapi.h>
#include <oaidl.h>
#include <oleauto.h>
#include <wincrypt.h>
#include <winternl.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "winhost/tools/event_line_windows.h"
#include "winhost/tools/job_limits_windows.h"

extern "C" NTSTATUS NTAPI NtFlushBuffersFile(HANDLE file, IO_STATUS_BLOCK* status);
extern "C" NTSTATUS NTAPI NtAllocateVirtualMemory(HANDLE process, void** address, ULONG_PTR zero_bits, SIZE_T* size, ULONG type,
                                                  ULONG protection);

namespace {

/// What stood in a DLL of Wine where it forwards to here; the program has loaded it.
template <class Function>
Function wine_function(const wchar_t* dll, const char* name) {
    return reinterpret_cast<Function>(reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(dll), name)));
}

}  // namespace

/// ntdll.dll: missing in Wine 8. PostgreSQL since 16 does not start without it.
///
/// Every kind of flush is done as the strictest, which writes the file's data and metadata to the disk.
extern "C" NTSTATUS NTAPI flush_file(HANDLE file, ULONG flags, void* parameters, ULONG parameters_size, IO_STATUS_BLOCK* status) {
    constexpr ULONG DataOnly = 1, NoSync = 2, DataSyncOnly = 4;
    constexpr NTSTATUS InvalidParameter = static_cast<NTSTATUS>(0xC000000D);
    const bool known = flags == 0 || flags == DataOnly || flags == NoSync || flags == DataSyncOnly;
    if (!known || parameters || parameters_size != 0) return InvalidParameter;
    return NtFlushBuffersFile(file, status);
}

/// iphlpapi.dll: missing in Wine 8. Java since 21 asks for it with the addresses of an adapter.
///
/// Containers have no anycast addresses.
extern "C" DWORD WINAPI anycast_addresses(ADDRESS_FAMILY family, MIB_ANYCASTIPADDRESS_TABLE** table) {
    if (!table || (family != AF_UNSPEC && family != AF_INET && family != AF_INET6)) return ERROR_INVALID_PARAMETER;
    *table = nullptr;
    return ERROR_NOT_FOUND;
}

namespace {

/// Wine keeps an adapter that has gone for as long as its server runs. It has no MTU then, unless another has taken its name, whose IPv4
/// addresses Wine finds by the name: the first of that name in `list` has them.
bool has_gone(const IP_ADAPTER_ADDRESSES* list, const IP_ADAPTER_ADDRESSES& adapter) {
    if (adapter.OperStatus == IfOperStatusUnknown && adapter.Mtu == 0) return true;
    for (; list != &adapter; list = list->Next)
        if (CompareStringOrdinal(list->FriendlyName, -1, adapter.FriendlyName, -1, FALSE) == CSTR_EQUAL) return true;
    return false;
}

/// What the emulated host network service uses of Linux for switches and their ports. On Windows only its adapters of the host itself are
/// seen: those for endpoints ("hnsho1"), and switches with an address.
bool is_of_a_switch(const IP_ADAPTER_ADDRESSES& adapter) {
    const wchar_t* name = adapter.FriendlyName;
    if (name[0] != 'h' || name[1] != 'n' || name[2] != 's' || (name[3] == 'h' && name[4] == 'o')) return false;
    const auto* address = adapter.FirstUnicastAddress;
    while (address && address->Address.lpSockaddr->sa_family != AF_INET) address = address->Next;
    return !address;
}

}  // namespace

/// iphlpapi.dll: Wine lists adapters that have gone. An emulated host has one more with every pod, for as long as it runs.
extern "C" ULONG WINAPI adapter_addresses(ULONG family, ULONG flags, void* reserved, IP_ADAPTER_ADDRESSES* list, ULONG* size) {
    static const auto Wine = wine_function<decltype(&GetAdaptersAddresses)>(L"iphlpapi.dll", "wine_GetAdaptersAddresses");
    const ULONG result = Wine(family, flags, reserved, list, size);
    if (result != ERROR_SUCCESS || !list) return result;
    const auto is_shown = [list](const IP_ADAPTER_ADDRESSES& adapter) { return !has_gone(list, adapter) && !is_of_a_switch(adapter); };
    // The caller's memory begins with the first, which another takes the place of. The loopback is always there; in Wine 10 it is the last.
    auto* first = list;
    while (first->Next && !is_shown(*first)) first = first->Next;
    if (first != list) __builtin_memcpy_inline(list, first, sizeof *list);
    for (auto* shown = list; shown->Next;)
        if (is_shown(*shown->Next))
            shown = shown->Next;
        else
            shown->Next = shown->Next->Next;
    return result;
}

/// kernel32.dll: Wine 8 does not know FileCompressionInfo, which workerd (the library KJ) asks for with every file that it opens.
///
/// No file is compressed; one with holes has less on the disk than its size, as on Windows.
extern "C" BOOL WINAPI file_information(HANDLE file, FILE_INFO_BY_HANDLE_CLASS kind, void* info, DWORD size) {
    static const auto Wine = wine_function<decltype(&GetFileInformationByHandleEx)>(L"kernel32.dll", "wine_GetFileInformationByHandleEx");
    if (kind != FileCompressionInfo) return Wine(file, kind, info, size);
    if (size < sizeof(FILE_COMPRESSION_INFO)) {
        SetLastError(ERROR_BAD_LENGTH);
        return FALSE;
    }
    FILE_STANDARD_INFO standard;
    if (!Wine(file, FileStandardInfo, &standard, sizeof standard)) return FALSE;
    FILE_COMPRESSION_INFO answer{};
    answer.CompressedFileSize.QuadPart = std::min(standard.EndOfFile.QuadPart, standard.AllocationSize.QuadPart);
    *static_cast<FILE_COMPRESSION_INFO*>(info) = answer;
    return TRUE;
}

/// kernel32.dll: Wine 8 leaves it to Linux where memory goes that may be anywhere near the top. Linux then puts Wine's own memory there as
/// soon as the program gives it back. Redis does so, to reserve the same place in parts, and ended where one was taken.
///
/// The top is below where Linux puts anything by itself.
extern "C" void* WINAPI allocate(HANDLE process, void* address, SIZE_T size, DWORD type, DWORD protection) {
    constexpr ULONG_PTR Top = 0x3FFF'FFFF'FFFF;
    static const auto Wine = wine_function<decltype(&VirtualAllocEx)>(L"kernel32.dll", "wine_VirtualAllocEx");
    if (!address && (type & MEM_TOP_DOWN) && NtAllocateVirtualMemory(process, &address, Top, &size, type, protection) >= 0) return address;
    return Wine(process, address, size, type, protection);
}

/// kernel32.dll: not done in Wine 8. Java asks for it at its start, and prints a warning each time.
///
/// Wine has one group of processors.
extern "C" BOOL WINAPI group_affinity(HANDLE process, USHORT* count, USHORT* groups) {
    if (GetProcessId(process) == 0) return FALSE;
    if (!count || (*count > 0 && !groups)) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    const USHORT room = std::exchange(*count, USHORT{1});
    if (room == 0) {
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return FALSE;
    }
    groups[0] = 0;
    return TRUE;
}

namespace {

using porthole::winhost::EventLine;
using porthole::winhost::JobLimits;

/// Gives the answer of a query, as far as there is room for it: otherwise the error is `too_small`.
template <class Answer>
BOOL give(const Answer& answer, bool fits, DWORD too_small, void* info, DWORD* returned) {
    if (returned) *returned = sizeof answer;
    if (!fits || !info) {
        SetLastError(too_small);
        return FALSE;
    }
    *static_cast<Answer*>(info) = answer;
    return TRUE;
}

GROUP_AFFINITY all_processors() {
    DWORD_PTR own = 0, all = 0;
    GetProcessAffinityMask(GetCurrentProcess(), &own, &all);
    GROUP_AFFINITY affinity{};
    affinity.Mask = all;
    return affinity;
}

/// Of the program's own job: the container's hard limit.
JOBOBJECT_CPU_RATE_CONTROL_INFORMATION processor_limit(bool own) {
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION limit{};
    const DWORD rate = own ? JobLimits::read().processor_rate : 0;
    if (rate == 0) return limit;
    limit.ControlFlags = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
    limit.CpuRate = rate;
    return limit;
}

}  // namespace

/// kernel32.dll: jobs of Wine 8 have no limits, by which .NET sizes its heap, and no groups of processors, which Java asks for at its
/// start, with a warning where it gets none.
///
/// A program's own job (null) has the limits of its container. A job that the program has made has none, whatever it was given.
extern "C" BOOL WINAPI job_information(HANDLE job, JOBOBJECTINFOCLASS kind, void* info, DWORD size, DWORD* returned) {
    static const auto Wine = wine_function<decltype(&QueryInformationJobObject)>(L"kernel32.dll", "wine_QueryInformationJobObject");
    const bool is_groups = kind == JobObjectGroupInformation || kind == JobObjectGroupInformationEx;
    if (job && (is_groups || kind == JobObjectCpuRateControlInformation)) {
        JOBOBJECT_BASIC_ACCOUNTING_INFORMATION known;  // of a job, and only of one
        if (!Wine(job, JobObjectBasicAccountingInformation, &known, sizeof known, nullptr)) return FALSE;
    }
    if (kind == JobObjectGroupInformation) return give(USHORT{0}, size >= sizeof(USHORT), ERROR_INSUFFICIENT_BUFFER, info, returned);
    if (kind == JobObjectGroupInformationEx)
        return give(all_processors(), size >= sizeof(GROUP_AFFINITY), ERROR_INSUFFICIENT_BUFFER, info, returned);
    if (kind == JobObjectCpuRateControlInformation) {
        const auto limit = processor_limit(!job);
        return give(limit, size == sizeof limit, ERROR_BAD_LENGTH, info, returned);
    }
    if (!Wine(job, kind, info, size, returned)) return FALSE;
    const SIZE_T memory = !job && kind == JobObjectExtendedLimitInformation ? JobLimits::read().memory : 0;
    if (memory > 0) {
        auto* limits = static_cast<JOBOBJECT_EXTENDED_LIMIT_INFORMATION*>(info);
        limits->BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
        limits->JobMemoryLimit = memory;
    }
    return TRUE;
}

/// kernel32.dll: Wine 8 takes no notice of FILE_FLAG_FIRST_PIPE_INSTANCE. Of two servers with one name, the second of libuv (Node.js) and
/// of .NET then succeeded, too. CreateNamedPipeA is left as it is, as many of Wine's own programs have it by rpcrt4.dll.
///
/// Whether there is one is looked up first: of two that begin at the same moment, both may still succeed.
extern "C" HANDLE WINAPI create_pipe(const wchar_t* name, DWORD open_mode, DWORD pipe_mode, DWORD most, DWORD out_size, DWORD in_size,
                                     DWORD timeout, SECURITY_ATTRIBUTES* attributes) {
    static const auto Wine = wine_function<decltype(&CreateNamedPipeW)>(L"kernel32.dll", "wine_CreateNamedPipeW");
    constexpr DWORD Soon = 1;  // milliseconds; 0 would be the server's own
    if ((open_mode & FILE_FLAG_FIRST_PIPE_INSTANCE) && name && (WaitNamedPipeW(name, Soon) || GetLastError() == ERROR_SEM_TIMEOUT)) {
        SetLastError(ERROR_ACCESS_DENIED);
        return INVALID_HANDLE_VALUE;
    }
    return Wine(name, open_mode, pipe_mode, most, out_size, in_size, timeout, attributes);
}

/// shell32.dll: in Wine 8 anyone is an administrator in whose token their group is, also for denying alone, as in that of ContainerUser.
extern "C" BOOL WINAPI is_administrator() {
    using Check = BOOL(WINAPI*)(HANDLE, PSID, BOOL*);
    static const auto IsMember = wine_function<Check>(L"kernelbase.dll", "CheckTokenMembership");
    struct {  // S-1-5-32-544
        BYTE revision = SID_REVISION, count = 2;
        SID_IDENTIFIER_AUTHORITY authority = SECURITY_NT_AUTHORITY;
        DWORD parts[2] = {SECURITY_BUILTIN_DOMAIN_RID, DOMAIN_ALIAS_RID_ADMINS};
    } administrators;
    BOOL is_member = FALSE;
    return IsMember && IsMember(nullptr, &administrators, &is_member) && is_member;
}

// advapi32.dll: Wine 8 accepts events and drops them. What a service of Windows has to say is often said there alone.
//
// An event becomes a line of the container's log. Its texts are in it, but not the message that a DLL of the source has for its number. A
// source is an atom of the process, whose name is the source's.
namespace {

HANDLE source_of(ATOM atom) { return reinterpret_cast<HANDLE>(static_cast<ULONG_PTR>(atom)); }

/// 0 with GetLastError() for what is no source.
ATOM atom_of(HANDLE source) {
    const auto number = reinterpret_cast<ULONG_PTR>(source);
    if (number >= MAXINTATOM && number <= MAXWORD) return static_cast<ATOM>(number);
    SetLastError(ERROR_INVALID_HANDLE);
    return 0;
}

template <class Character>
BOOL report_event(HANDLE source, WORD type, DWORD id, WORD count, const Character** texts) {
    constexpr int LongestAtom = 256;
    wchar_t name[LongestAtom];
    const ATOM atom = atom_of(source);
    if (atom == 0 || !GetAtomNameW(atom, name, LongestAtom)) return FALSE;
    EventLine line(type, id);
    line.add(" of ");
    line.add(name);
    line.add(count > 0 ? ":" : "");
    for (WORD i = 0; i < count; ++i) {
        line.add(" ");
        if (texts[i]) line.add(texts[i]);
    }
    line.write();
    return TRUE;
}

}  // namespace

extern "C" HANDLE WINAPI open_event_source_a(const char*, const char* source) { return source_of(AddAtomA(source)); }
extern "C" HANDLE WINAPI open_event_source_w(const wchar_t*, const wchar_t* source) { return source_of(AddAtomW(source)); }
extern "C" BOOL WINAPI close_event_source(HANDLE source) {
    const ATOM atom = atom_of(source);
    if (atom == 0) return FALSE;
    SetLastError(ERROR_SUCCESS);
    DeleteAtom(atom);
    return GetLastError() == ERROR_SUCCESS;
}
extern "C" BOOL WINAPI report_event_a(HANDLE source, WORD type, WORD, DWORD id, PSID, WORD count, DWORD, const char** texts, void*) {
    return report_event(source, type, id, count, texts);
}
extern "C" BOOL WINAPI report_event_w(HANDLE source, WORD type, WORD, DWORD id, PSID, WORD count, DWORD, const wchar_t** texts, void*) {
    return report_event(source, type, id, count, texts);
}

/// wevtapi.dll: functions that open something of the event log, which do nothing in Wine 8, not even tell an error.
///
/// No such service runs, and this is what they answer then on Windows. The functions have different arguments, none of which is read.
extern "C" HANDLE WINAPI no_event_log() {
    SetLastError(RPC_S_SERVER_UNAVAILABLE);
    return nullptr;
}

/// crypt32.dll: Wine 8 does not take the structure as it is since Windows 8, with a member more. Programs with Rust's rustls do not start
/// without it.
///
/// The member's one flag is refused, as Wine would not obey it.
extern "C" BOOL WINAPI certificate_chain_engine(CERT_CHAIN_ENGINE_CONFIG* config, HCERTCHAINENGINE* engine) {
    static const auto Wine =
        wine_function<decltype(&CertCreateCertificateChainEngine)>(L"crypt32.dll", "wine_CertCreateCertificateChainEngine");
    if (config->cbSize != sizeof *config || config->dwExclusiveFlags != 0) return Wine(config, engine);
    CERT_CHAIN_ENGINE_CONFIG known = *config;
    known.cbSize = offsetof(CERT_CHAIN_ENGINE_CONFIG, dwExclusiveFlags);
    return Wine(&known, engine);
}

/// propsys.dll: missing in Wine 8. CPython since 3.12 asks for it with what WMI answers, which `platform.system()` reads.
///
/// One value, as text; arrays, which Windows joins with "; ", are refused.
extern "C" HRESULT WINAPI variant_text(const VARIANT* value, wchar_t* text, UINT size) {
    using Change = HRESULT(WINAPI*)(VARIANT*, const VARIANT*, USHORT, VARTYPE);
    using Clear = HRESULT(WINAPI*)(VARIANT*);
    const HMODULE automation = LoadLibraryW(L"oleaut32.dll");  // which the caller's value comes from
    const auto change = reinterpret_cast<Change>(reinterpret_cast<void*>(GetProcAddress(automation, "VariantChangeType")));
    const auto clear = reinterpret_cast<Clear>(reinterpret_cast<void*>(GetProcAddress(automation, "VariantClear")));
    if (!text || size == 0 || !change || !clear) return E_INVALIDARG;
    text[0] = 0;
    if (value->vt == VT_EMPTY || value->vt == VT_NULL) return S_OK;
    VARIANT changed{};
    if (const HRESULT result = change(&changed, value, VARIANT_ALPHABOOL, VT_BSTR); FAILED(result)) return result;
    UINT length = 0;
    for (; length + 1 < size && changed.bstrVal && changed.bstrVal[length]; ++length) text[length] = changed.bstrVal[length];
    text[length] = 0;
    const bool complete = !changed.bstrVal || !changed.bstrVal[length];
    clear(&changed);
    return complete ? S_OK : HRESULT_FROM_WIN32(ERROR_INSUFFICIENT_BUFFER);
}

BOOL WINAPI DllMain(HINSTANCE, DWORD, void*) { return TRUE; }
