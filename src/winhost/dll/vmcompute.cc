#include "hns/hresult.h"
#include "winhost/dll/host_connection_windows.h"

using namespace porthole;

/// Version 1 of the API. Its failures are in the response; the code tells only of the way to the service.
extern "C" HRESULT WINAPI HNSCall(PCWSTR method, PCWSTR path, PCWSTR request, PWSTR* response) {
    if (!response) return E_POINTER;
    *response = nullptr;
    const auto answer = winhost::call_host(
        {.call = "HNSCall", .document = winhost::utf8(request), .method = winhost::utf8(method), .path = winhost::utf8(path)});
    if (!answer) {
        const hns::Hresult code = hns::hresult_of(answer.error());
        return static_cast<HRESULT>(code == hns::Hresult::Ok ? hns::Hresult::Unexpected : code);
    }
    if (answer->hresult != 0) return static_cast<HRESULT>(answer->hresult);
    *response = winhost::give(answer->document);
    return *response ? S_OK : E_OUTOFMEMORY;
}
