#include "hns/guid.h"
#include "hns/hresult.h"
#include "winhost/dll/subscription_windows.h"

using namespace porthole;
using hns::wire::Request;

namespace {

/// What a handle points at.
struct Object {
    std::string id;
};

std::string guid_text(REFGUID id) {
    char text[37];
    std::snprintf(text, sizeof text, "%08lX-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X", static_cast<unsigned long>(id.Data1), id.Data2,
                  id.Data3, id.Data4[0], id.Data4[1], id.Data4[2], id.Data4[3], id.Data4[4], id.Data4[5], id.Data4[6], id.Data4[7]);
    return text;
}

HRESULT fail(const Error& error, PWSTR* record) {
    if (record) *record = winhost::give(hns::error_record(error));
    const hns::Hresult code = hns::hresult_of(error);
    return static_cast<HRESULT>(code == hns::Hresult::Ok ? hns::Hresult::Unexpected : code);
}

/// Success leaves the record null.
Result<hns::wire::Response> call(const Request& request, PWSTR* record, HRESULT& code) {
    if (record) *record = nullptr;
    auto response = winhost::call_host(request);
    if (!response) {
        code = fail(response.error(), record);
        return response;
    }
    code = static_cast<HRESULT>(response->hresult);
    if (code == S_OK && response->error.empty()) return response;
    if (record && !response->error.empty()) *record = winhost::give(response->error);
    return Error(Reason::Unknown, "");
}

HRESULT enumerate(const char* name, PCWSTR query, PWSTR* ids, PWSTR* record) {
    if (!ids) return E_POINTER;
    *ids = nullptr;
    HRESULT code = S_OK;
    if (const auto response = call({.call = name, .document = winhost::utf8(query)}, record, code))
        *ids = winhost::give(response->document);
    return code;
}

HRESULT create(const char* name, const Object* parent, REFGUID id, PCWSTR settings, void** object, PWSTR* record) {
    if (!object) return E_POINTER;
    *object = nullptr;
    const std::string asked = guid_text(id);
    HRESULT code = S_OK;
    const auto response = call(
        {.call = name, .id = asked == hns::ZeroGuid ? "" : asked, .parent = parent ? parent->id : "", .document = winhost::utf8(settings)},
        record, code);
    if (response) *object = new Object{response->id};
    return code;
}

HRESULT open(const char* name, REFGUID id, void** object, PWSTR* record) {
    if (!object) return E_POINTER;
    *object = nullptr;
    HRESULT code = S_OK;
    if (const auto response = call({.call = name, .id = guid_text(id)}, record, code)) *object = new Object{response->id};
    return code;
}

HRESULT query(const char* name, void* object, PCWSTR query, PWSTR* properties, PWSTR* record) {
    if (!object || !properties) return E_POINTER;
    *properties = nullptr;
    HRESULT code = S_OK;
    const auto response = call({.call = name, .id = static_cast<Object*>(object)->id, .document = winhost::utf8(query)}, record, code);
    if (response) *properties = winhost::give(response->document);
    return code;
}

HRESULT modify(const char* name, void* object, PCWSTR settings, PWSTR* record) {
    if (!object) return E_POINTER;
    HRESULT code = S_OK;
    static_cast<void>(call({.call = name, .id = static_cast<Object*>(object)->id, .document = winhost::utf8(settings)}, record, code));
    return code;
}

HRESULT remove(const char* name, REFGUID id, PWSTR* record) {
    HRESULT code = S_OK;
    static_cast<void>(call({.call = name, .id = guid_text(id)}, record, code));
    return code;
}

HRESULT close(void* object) {
    delete static_cast<Object*>(object);
    return S_OK;
}

}  // namespace

#define PORTHOLE_HCN_OBJECT(Word)                                                                                                \
    HRESULT WINAPI HcnEnumerate##Word##s(PCWSTR text, PWSTR* ids, PWSTR* record) {                                               \
        return enumerate("HcnEnumerate" #Word "s", text, ids, record);                                                           \
    }                                                                                                                            \
    HRESULT WINAPI HcnOpen##Word(REFGUID id, void** object, PWSTR* record) { return open("HcnOpen" #Word, id, object, record); } \
    HRESULT WINAPI HcnQuery##Word##Properties(void* object, PCWSTR text, PWSTR* properties, PWSTR* record) {                     \
        return query("HcnQuery" #Word "Properties", object, text, properties, record);                                           \
    }                                                                                                                            \
    HRESULT WINAPI HcnModify##Word(void* object, PCWSTR settings, PWSTR* record) {                                               \
        return modify("HcnModify" #Word, object, settings, record);                                                              \
    }                                                                                                                            \
    HRESULT WINAPI HcnDelete##Word(REFGUID id, PWSTR* record) { return remove("HcnDelete" #Word, id, record); }                  \
    HRESULT WINAPI HcnClose##Word(void* object) { return close(object); }

#define PORTHOLE_HCN_CREATE(Word)                                                               \
    HRESULT WINAPI HcnCreate##Word(REFGUID id, PCWSTR settings, void** object, PWSTR* record) { \
        return create("HcnCreate" #Word, nullptr, id, settings, object, record);                \
    }

extern "C" {

PORTHOLE_HCN_OBJECT(Network)
PORTHOLE_HCN_OBJECT(Endpoint)
PORTHOLE_HCN_OBJECT(Namespace)
PORTHOLE_HCN_OBJECT(LoadBalancer)
PORTHOLE_HCN_OBJECT(SdnRoute)
PORTHOLE_HCN_CREATE(Network)
PORTHOLE_HCN_CREATE(Namespace)
PORTHOLE_HCN_CREATE(LoadBalancer)
PORTHOLE_HCN_CREATE(SdnRoute)

HRESULT WINAPI HcnCreateEndpoint(void* network, REFGUID id, PCWSTR settings, void** object, PWSTR* record) {
    if (!network) return E_POINTER;
    return create("HcnCreateEndpoint", static_cast<Object*>(network), id, settings, object, record);
}

HRESULT WINAPI HcnRegisterServiceCallback(winhost::NotificationCallback callback, void* context, void** registration) {
    if (!callback || !registration) return E_POINTER;
    auto subscription = winhost::Subscription::start(callback, context);
    if (!subscription) return fail(subscription.error(), nullptr);
    *registration = subscription->release();
    return S_OK;
}

HRESULT WINAPI HcnUnregisterServiceCallback(void* registration) {
    delete static_cast<winhost::Subscription*>(registration);
    return S_OK;
}

}  // extern "C"
