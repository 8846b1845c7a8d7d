#include "hns/dll/exports_windows.h"

#include <string>

#include "base/wide_windows.h"

namespace porthole::hns::dll {
namespace {

template <class F>
void find(HMODULE library, const std::string& name, F& function) {
    function = reinterpret_cast<F>(reinterpret_cast<void*>(GetProcAddress(library, name.c_str())));
}

ObjectFunctions find_object(HMODULE library, const char* word, bool in_network) {
    ObjectFunctions functions{};
    const std::string name = word;
    functions.word = word;
    find(library, "HcnEnumerate" + name + "s", functions.enumerate);
    if (in_network) {
        find(library, "HcnCreate" + name, functions.create_in);
    } else {
        find(library, "HcnCreate" + name, functions.create);
    }
    find(library, "HcnOpen" + name, functions.open);
    find(library, "HcnQuery" + name + "Properties", functions.query);
    find(library, "HcnModify" + name, functions.modify);
    find(library, "HcnDelete" + name, functions.remove);
    find(library, "HcnClose" + name, functions.close);
    return functions;
}

}  // namespace

Result<Exports> load_exports() {
    const HMODULE network = LoadLibraryExW(L"computenetwork.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (!network) {
        Error error = windows_error("loading computenetwork.dll", GetLastError(), Reason::NotFound);
        error.message += "; install the Windows feature Containers";
        return error;
    }
    Exports exports;
    exports.objects = {find_object(network, "Network", false), find_object(network, "Endpoint", true),
                       find_object(network, "Namespace", false), find_object(network, "LoadBalancer", false),
                       find_object(network, "SdnRoute", false)};
    find(network, "HcnRegisterServiceCallback", exports.register_callback);
    find(network, "HcnUnregisterServiceCallback", exports.unregister_callback);
    if (const HMODULE compute = LoadLibraryExW(L"vmcompute.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32))
        find(compute, "HNSCall", exports.call_v1);
    return exports;
}

}  // namespace porthole::hns::dll
