#pragma once
#include <optional>
#include <string>
#include <vector>

#include "client/json_slices.h"
#include "client/transport.h"
#include "schema/json/json.h"
#include "schema/registry.h"

namespace porthole::client {

/// An object's key; `namespace_` is empty for cluster-scoped kinds. Text form: "namespace/name" or "name".
struct NamespacedName {
    std::string namespace_, name;
    auto operator<=>(const NamespacedName&) const = default;
    std::string text() const { return namespace_.empty() ? name : namespace_ + "/" + name; }
};

template <class T>
NamespacedName key_of(const T& object) {
    return {object.metadata.namespace_, object.metadata.name};
}

/// Options of a list. A watch uses the selection and `resource_version`.
struct ListOptions {
    std::string namespace_;  ///< "" for all namespaces
    std::string label_selector, field_selector;
    std::string resource_version;  ///< "" for the newest
    std::int64_t limit = 0;
    std::string continue_;
};

/// As meta/v1 DeleteOptions.
struct DeleteOptions {
    std::string uid, resource_version;  ///< preconditions; "" for none
    std::optional<std::int64_t> grace_period_seconds;
    std::string propagation_policy;  ///< "" for the kind's default
};

enum class PatchType { Json, Merge, StrategicMerge, Apply };

/// Options of a watch in addition to its selection.
struct WatchOptions {
    bool bookmarks = true;
    Duration timeout{};          ///< the server ends the watch after it; 0 leaves that to the server
    bool metadata_only = false;  ///< PartialObjectMetadata instead of whole objects, where the server can
};

/// A list, or one page of it: then `continue_` is the token for the next page.
template <class T>
struct ObjectList {
    std::vector<T> items;
    std::string resource_version, continue_;
};

/// The API, typed. Every failure of the server is an Error with its reason, message and causes; one to reach it is Unavailable.
/// Methods that change something yield the object as stored. Holds no state: several tasks may use it at a time. It and `transport`
/// must outlive their tasks, and run on the loop of the tasks.
class Client {
public:
    explicit Client(Transport& transport) : transport_(transport) {}

    template <class T>
    Task<T> get(NamespacedName key) {
        return decoded<T>(call("GET", path(T::kind(), key, ""), ""));
    }
    template <class T>
    Task<ObjectList<T>> list(ListOptions options = {}) {
        return decoded_list<T>(list_raw(T::kind(), std::move(options)));
    }
    template <class T>
    Task<T> create(T object) {
        std::string body = schema::encode_json(object);
        return decoded<T>(call("POST", collection_path(T::kind(), object.metadata.namespace_), "", std::move(body)));
    }
    /// If metadata.resourceVersion is set: Conflict if another write has happened since.
    template <class T>
    Task<T> update(T object) {
        return put<T>(std::move(object), "");
    }
    template <class T>
    Task<T> update_status(T object) {
        return put<T>(std::move(object), "status");
    }
    template <class T>
    Task<T> patch(NamespacedName key, PatchType type, std::string body, std::string subresource = "") {
        return decoded<T>(patch_raw(path(T::kind(), key, subresource), type, std::move(body)));
    }
    template <class T>
    Task<> remove(NamespacedName key, DeleteOptions options = {}) {
        return remove_raw(path(T::kind(), key, ""), std::move(options));
    }
    /// POST of any body to a subresource, for example a Binding or an Eviction. Returns the reply's JSON.
    Task<net::Bytes> post(std::string path, std::string body);
    Task<net::Bytes> put_raw(std::string path, std::string body);
    /// DELETE of one object, or of a whole collection that `query` may narrow.
    Task<> remove_raw(std::string path, DeleteOptions options, std::string query = "");
    Task<net::Bytes> patch_raw(std::string path, PatchType type, std::string body);
    Task<net::Bytes> list_raw(const schema::Kind& kind, ListOptions options, bool metadata_only = false);

    /// Events as raw documents from `resource_version` on; see informer.h for the comfortable form.
    Task<std::unique_ptr<ApiStream>> watch(const schema::Kind& kind, ListOptions options, WatchOptions watch = {});
    /// GET of any path.
    Task<net::Bytes> get_raw(std::string path, std::string query = "", std::string accept = "");

    /// "/apis/apps/v1/namespaces/ns/deployments[/name[/subresource]]"
    static std::string path(const schema::Kind& kind, const NamespacedName& key, const std::string& subresource);
    static std::string collection_path(const schema::Kind& kind, const std::string& namespace_);

private:
    Task<net::Bytes> call(std::string method, std::string path, std::string query, std::string body = "", std::string content_type = "",
                          std::string accept = "");

    template <class T>
    static Task<T> decoded(Task<net::Bytes> reply) {
        CO_TRY(const net::Bytes bytes, co_await std::move(reply));
        co_return schema::decode_json<T>(*bytes);
    }
    template <class T>
    static Task<ObjectList<T>> decoded_list(Task<net::Bytes> reply);
    template <class T>
    Task<T> put(T object, std::string subresource) {
        std::string body = schema::encode_json(object);
        return decoded<T>(call("PUT", path(T::kind(), key_of(object), subresource), "", std::move(body)));
    }

    Transport& transport_;
};

/// Media types for "only the metadata, if you can, else the whole": of one object and of a list.
inline constexpr const char* MetadataObject = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
inline constexpr const char* MetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// The Error of a reply of 400 or more: from its Status, or from the text of a proxy in between.
Error error_of_status(int code, std::string_view body);

/// A list reply cut into its items.
struct ListSlices {
    std::vector<std::string_view> items;
    std::string resource_version, continue_;
};
/// The items point into `body`. Error: BadRequest.
Result<ListSlices> slice_list(std::string_view body);

template <class T>
Task<ObjectList<T>> Client::decoded_list(Task<net::Bytes> reply) {
    CO_TRY(const net::Bytes bytes, co_await std::move(reply));
    CO_TRY(ListSlices slices, slice_list(*bytes));
    ObjectList<T> list;
    list.items.reserve(slices.items.size());
    for (const std::string_view item : slices.items) {
        CO_TRY(T object, schema::decode_json<T>(item));
        list.items.push_back(std::move(object));
    }
    list.resource_version = std::move(slices.resource_version);
    list.continue_ = std::move(slices.continue_);
    co_return std::move(list);
}

}  // namespace porthole::client
