#pragma once  // private to this folder
#include <winsock2.h>
// winsock2.h comes before windows.h.
#include <windows.h>

#include <array>

#include "base/result.h"

namespace porthole::hns::dll {

using Handle = void*;  ///< of a network, endpoint ...; valid until closed

/// The functions of one kind of object, as computenetwork.dll exports them; null if it lacks one.
struct ObjectFunctions {
    const char* word;  ///< "Network" in HcnOpenNetwork
    HRESULT(WINAPI* enumerate)(PCWSTR query, PWSTR* ids, PWSTR* record);
    HRESULT(WINAPI* create)(REFGUID id, PCWSTR settings, Handle* object, PWSTR* record);
    HRESULT(WINAPI* create_in)(Handle network, REFGUID id, PCWSTR settings, Handle* object, PWSTR* record);  ///< endpoints only
    HRESULT(WINAPI* open)(REFGUID id, Handle* object, PWSTR* record);
    HRESULT(WINAPI* query)(Handle object, PCWSTR query, PWSTR* properties, PWSTR* record);
    HRESULT(WINAPI* modify)(Handle object, PCWSTR settings, PWSTR* record);
    HRESULT(WINAPI* remove)(REFGUID id, PWSTR* record);
    HRESULT(WINAPI* close)(Handle object);
};

using Callback = void(CALLBACK*)(DWORD type, void* context, HRESULT status, PCWSTR data);

/// The functions found in the DLLs, which stay loaded. The API's strings are freed with CoTaskMemFree.
struct Exports {
    std::array<ObjectFunctions, 5> objects;  ///< by ObjectKind
    HRESULT(WINAPI* register_callback)(Callback callback, void* context, Handle* registration) = nullptr;
    HRESULT(WINAPI* unregister_callback)(Handle registration) = nullptr;
    HRESULT(WINAPI* call_v1)(PCWSTR method, PCWSTR path, PCWSTR request, PWSTR* response) = nullptr;
};

/// Error: NotFound.
Result<Exports> load_exports();

}  // namespace porthole::hns::dll
