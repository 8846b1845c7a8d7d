#include "client/client.h"

#include "net/http/http.h"
#include "schema/json/json_slicer.h"
#include "schema/value.h"

namespace porthole::client {
namespace {

class QueryBuilder {
public:
    QueryBuilder& add(std::string_view key, std::string_view value) {
        if (value.empty()) return *this;
        if (!text_.empty()) text_ += '&';
        text_ += key;
        text_ += '=';
        text_ += net::percent_encode(value);
        return *this;
    }
    std::string take() { return std::move(text_); }

private:
    std::string text_;
};

QueryBuilder list_query(const ListOptions& options) {
    QueryBuilder query;
    query.add("labelSelector", options.label_selector)
        .add("fieldSelector", options.field_selector)
        .add("resourceVersion", options.resource_version)
        .add("limit", options.limit > 0 ? std::to_string(options.limit) : "")
        .add("continue", options.continue_);
    return query;
}

const char* content_type_of(PatchType type) {
    switch (type) {
        case PatchType::Json:
            return "application/json-patch+json";
        case PatchType::Merge:
            return "application/merge-patch+json";
        case PatchType::StrategicMerge:
            return "application/strategic-merge-patch+json";
        case PatchType::Apply:
            return "application/apply-patch+yaml";
    }
    return "";
}

std::string encode_delete_options(const DeleteOptions& options) {
    schema::Value body = schema::Value::object({{"kind", "DeleteOptions"}, {"apiVersion", "v1"}});
    if (!options.uid.empty()) body.ensure_path({"preconditions", "uid"}) = options.uid;
    if (!options.resource_version.empty()) body.ensure_path({"preconditions", "resourceVersion"}) = options.resource_version;
    if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
    if (!options.propagation_policy.empty()) body["propagationPolicy"] = options.propagation_policy;
    return schema::to_json(body);
}

Reason reason_named(std::string_view name, int code) {
    for (int i = 0; i <= static_cast<int>(Reason::Timeout); ++i) {
        const Reason reason = static_cast<Reason>(i);
        if (!name.empty() && name == to_string(reason)) return reason;
    }
    return reason_of_http_code(code);
}

}  // namespace

Error error_of_status(int code, std::string_view body) {
    const Result<schema::Value> parsed = schema::parse_json(body);
    if (!parsed || parsed->string_at({"kind"}) != "Status") {
        const std::string_view text = body.substr(0, std::min<std::size_t>(body.size(), 200));
        return Error(reason_of_http_code(code),
                     "the server answered " + std::to_string(code) + (text.empty() ? "" : ": ") + std::string(text));
    }
    const schema::Value& status = *parsed;
    if (code == 0) code = static_cast<int>(at(status, "code").int_or(500));
    Error error(reason_named(status.string_at({"reason"}), code), std::string(status.string_at({"message"})));
    const schema::Value& details = at(status, "details");
    error.details->name = details.string_at({"name"});
    error.details->group = details.string_at({"group"});
    error.details->kind = details.string_at({"kind"});
    error.details->uid = details.string_at({"uid"});
    error.details->retry_after_seconds = static_cast<int>(at(details, "retryAfterSeconds").int_or(0));
    if (const schema::Value* causes = details.find("causes"); causes && causes->is_array()) {
        for (const schema::Value& cause : causes->as_array()) {
            error.details->causes.push_back({std::string(cause.string_at({"reason"})), std::string(cause.string_at({"message"})),
                                             std::string(cause.string_at({"field"}))});
        }
    }
    return error;
}

Result<ListSlices> slice_list(std::string_view body) {
    ListSlices list;
    std::string_view metadata;
    schema::JsonSlicer slicer(body);
    TRY_VOID(slicer.members([&](std::string_view key) -> Result<void> {
        // The items are most of the text, so they are cut at once.
        if (key == "\"items\"" && !slicer.is_at("null")) {
            TRY(list.items, slicer.elements());
            return {};
        }
        TRY(const std::string_view value, slicer.value());
        if (key == "\"metadata\"") metadata = value;
        return {};
    }));
    if (metadata.empty()) return list;
    TRY(const std::string_view version, json_member(metadata, "resourceVersion"));
    TRY(const std::string_view token, json_member(metadata, "continue"));
    list.resource_version = json_plain_string(version);
    list.continue_ = json_plain_string(token);
    return list;
}

std::string Client::collection_path(const schema::Kind& kind, const std::string& namespace_) {
    std::string path = kind.group.empty() ? "/api/" : "/apis/" + std::string(kind.group) + "/";
    path += kind.version;
    if (kind.namespaced() && !namespace_.empty()) path += "/namespaces/" + net::percent_encode(namespace_);
    return path + "/" + std::string(kind.plural);
}

std::string Client::path(const schema::Kind& kind, const NamespacedName& key, const std::string& subresource) {
    std::string path = collection_path(kind, key.namespace_) + "/" + net::percent_encode(key.name);
    if (!subresource.empty()) path += "/" + subresource;
    return path;
}

Task<net::Bytes> Client::call(std::string method, std::string path, std::string query, std::string body, std::string content_type,
                              std::string accept) {
    ApiRequest request{std::move(method), std::move(path), std::move(query), std::move(content_type), std::move(body), std::move(accept)};
    CO_TRY(ApiResponse response, co_await transport_.call(std::move(request)));
    if (response.code >= 400) co_return error_of_status(response.code, *response.body);
    co_return std::move(response.body);
}

Task<net::Bytes> Client::post(std::string path, std::string body) { return call("POST", std::move(path), "", std::move(body)); }

Task<net::Bytes> Client::put_raw(std::string path, std::string body) { return call("PUT", std::move(path), "", std::move(body)); }

Task<net::Bytes> Client::get_raw(std::string path, std::string query, std::string accept) {
    return call("GET", std::move(path), std::move(query), "", "", std::move(accept));
}

Task<net::Bytes> Client::patch_raw(std::string path, PatchType type, std::string body) {
    const bool apply = type == PatchType::Apply;
    return call("PATCH", std::move(path), apply ? "fieldManager=porthole&force=true" : "", std::move(body), content_type_of(type));
}

Task<> Client::remove_raw(std::string path, DeleteOptions options, std::string query) {
    CO_TRY_VOID(co_await call("DELETE", std::move(path), std::move(query), encode_delete_options(options)));
    co_return {};
}

Task<net::Bytes> Client::list_raw(const schema::Kind& kind, ListOptions options, bool metadata_only) {
    return call("GET", collection_path(kind, options.namespace_), list_query(options).take(), "", "", metadata_only ? MetadataList : "");
}

Task<std::unique_ptr<ApiStream>> Client::watch(const schema::Kind& kind, ListOptions options, WatchOptions watch) {
    QueryBuilder query = list_query(options);
    query.add("watch", "true").add("allowWatchBookmarks", watch.bookmarks ? "true" : "");
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(watch.timeout).count();
    query.add("timeoutSeconds", seconds > 0 ? std::to_string(seconds) : "");
    ApiRequest request;
    request.method = "GET";
    request.path = collection_path(kind, options.namespace_);
    request.query = query.take();
    request.accept = watch.metadata_only ? MetadataObject : "";
    return transport_.watch(std::move(request));
}

}  // namespace porthole::client
