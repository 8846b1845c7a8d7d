#include "client/fake/fake_api.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/time/time.h"
#include "net/http/http.h"
#include "schema/json/json.h"
#include "schema/patch/patch.h"

namespace porthole::client {
namespace {

using schema::Kind;
using schema::Value;

std::string query_value(const std::string& query, std::string_view key) {
    for (auto& [name, value] : net::parse_query(query))
        if (name == key) return value;
    return "";
}

std::int64_t to_number(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// "a=b,c!=d,e" on what `value_of` says of a key; absent counts as "".
template <class ValueOf>
bool selected(std::string_view selector, ValueOf value_of) {
    while (!selector.empty()) {
        const std::size_t comma = std::min(selector.find(','), selector.size());
        std::string_view term = selector.substr(0, comma);
        selector.remove_prefix(std::min(comma + 1, selector.size()));
        const std::size_t sign = term.find_first_of("!=");
        const std::string_view key = term.substr(0, sign);
        if (sign == term.npos) {
            if (value_of(key).empty()) return false;
            continue;
        }
        const bool wanted_equal = term[sign] == '=';
        std::string_view wanted = term.substr(term.find_last_of('=') + 1);
        if ((value_of(key) == wanted) != wanted_equal) return false;
    }
    return true;
}

std::string text_below(const Value& object, std::string_view path) {
    const Value* value = &object;
    while (value && !path.empty()) {
        const std::size_t dot = std::min(path.find('.'), path.size());
        value = value->find(path.substr(0, dot));
        path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return value ? std::string(value->string_or("")) : "";
}

bool matches_query(const Value& object, const std::string& query) {
    const Value* labels = object.at_path({"metadata", "labels"});
    return selected(query_value(query, "labelSelector"),
                    [&](std::string_view key) { return std::string(labels ? at(*labels, key).string_or("") : ""); }) &&
           selected(query_value(query, "fieldSelector"), [&](std::string_view key) { return text_below(object, key); });
}

bool is_held(const Value& object) {
    const auto nonempty = [](const Value* list) { return list && list->is_array() && !list->as_array().empty(); };
    const bool namespace_held = object.string_at({"kind"}) == "Namespace" && nonempty(object.at_path({"spec", "finalizers"}));
    return namespace_held || nonempty(object.at_path({"metadata", "finalizers"}));
}

void add_finalizer(Value& object, const char* finalizer) {
    Value& list = object.ensure_path({"metadata", "finalizers"});
    if (!list.is_array()) list = Value::array();
    list.as_array().push_back(finalizer);
}

/// Everything but metadata and status.
Value wish(Value object) {
    object.erase("metadata");
    object.erase("status");
    return object;
}

Value status_of(const Error& error) {
    Value status = Value::object({{"kind", "Status"},
                                  {"apiVersion", "v1"},
                                  {"status", "Failure"},
                                  {"message", error.message},
                                  {"reason", to_string(error.reason)},
                                  {"code", http_code(error.reason)}});
    Value causes = Value::array();
    for (const Cause& cause : error.details->causes)
        causes.as_array().push_back(Value::object({{"reason", cause.type}, {"message", cause.message}, {"field", cause.field}}));
    if (!error.details->causes.empty()) status.ensure_path({"details", "causes"}) = std::move(causes);
    return status;
}

net::Bytes encode(const Value& value) { return std::make_shared<const std::string>(schema::to_json(value)); }

DeleteOptions parse_delete_options(const std::string& body) {
    DeleteOptions options;
    const Result<Value> value = schema::parse_json(body);
    if (!value) return options;
    options.uid = value->string_at({"preconditions", "uid"});
    options.resource_version = value->string_at({"preconditions", "resourceVersion"});
    options.propagation_policy = value->string_at({"propagationPolicy"});
    if (const Value* grace = value->find("gracePeriodSeconds"); grace && grace->is_int()) options.grace_period_seconds = grace->as_int();
    return options;
}

}  // namespace

struct FakeApi::Target {
    const Kind* kind = nullptr;
    NamespacedName key;
    std::string subresource;
};

struct FakeApi::Change {
    std::int64_t revision;
    const Kind* kind;
    const char* type;
    Value object;
};

class FakeApi::Stream final : public ApiStream {
public:
    Stream(FakeApi& api, const Kind& kind, std::string namespace_, std::string query)
        : api_(api), kind_(kind), namespace_(std::move(namespace_)), query_(std::move(query)) {
        api_.streams_.insert(this);
    }
    ~Stream() override { api_.streams_.erase(this); }

    /// An object that no longer fulfils a selector is deleted for this watch.
    void offer(const Kind& kind, const char* type, const Value& object) {
        if (&kind != &kind_) return;
        if (!namespace_.empty() && object.string_at({"metadata", "namespace"}) != namespace_) return;
        const std::string name = fmt::format("{}/{}", object.string_at({"metadata", "namespace"}), object.string_at({"metadata", "name"}));
        const bool fits = matches_query(object, query_), was_there = shown_.contains(name);
        if (!fits && !was_there) {
            if (std::string_view(type) != "MODIFIED" || !query_.contains("elector")) return;
            type = "DELETED";  // whether it was shown before this watch is not known; a second DELETED is harmless
        } else if (!fits) {
            type = "DELETED";
        } else if (std::string_view(type) == "MODIFIED" && !was_there && query_.contains("elector")) {
            type = "ADDED";
        }
        if (std::string_view(type) == "DELETED")
            shown_.erase(name);
        else
            shown_.insert(name);
        send(type, object);
    }
    void send(const char* type, const Value& object) { events_.push(encode(Value::object({{"type", type}, {"object", object}}))); }
    void break_off() {
        broken_ = true;
        events_.close();
    }
    Task<std::optional<net::Bytes>> next() override {
        CO_TRY(std::optional<net::Bytes> event, co_await events_.next());
        if (!event && broken_) co_return Error(Reason::Unavailable, "the connection broke off");
        co_return event;
    }

private:
    FakeApi& api_;
    const Kind& kind_;
    std::string namespace_, query_;
    std::set<std::string> shown_;
    Channel<net::Bytes> events_;
    bool broken_ = false;
};

FakeApi::FakeApi(EventLoop& loop, const schema::Registry& registry) : loop_(loop), registry_(registry) {}
FakeApi::~FakeApi() { CHECK(streams_.empty()); }

Task<ApiResponse> FakeApi::call(ApiRequest request) {
    CO_TRY_VOID(co_await loop_.sleep(latency_));
    requests_.push_back({request.method, request.path, request.query, request.body});
    std::optional<Error> fault = fault_ ? fault_(request) : std::nullopt;
    if (fault && fault->reason == Reason::Unavailable) co_return std::move(*fault);
    Result<Value> reply = fault ? Result<Value>(std::move(*fault)) : answer(request);
    if (reply) co_return ApiResponse{request.method == "POST" ? 201 : 200, encode(*reply)};
    co_return ApiResponse{http_code(reply.error().reason), encode(status_of(reply.error()))};
}

Task<std::unique_ptr<ApiStream>> FakeApi::watch(ApiRequest request) {
    CO_TRY_VOID(co_await loop_.sleep(latency_));
    if (fault_)
        if (std::optional<Error> fault = fault_(request)) co_return std::move(*fault);
    CO_TRY(const Target target, resolve(request.path));
    auto stream = std::make_unique<Stream>(*this, *target.kind, target.key.namespace_, request.query);
    const std::int64_t after = to_number(query_value(request.query, "resourceVersion"));
    if (after < forgotten_) {
        stream->send("ERROR", status_of(Error(Reason::Expired, "too old resource version")));
    } else {
        for (const Change& change : history_)
            if (change.revision > after) stream->offer(*change.kind, change.type, change.object);
    }
    co_return std::unique_ptr<ApiStream>(std::move(stream));
}

std::optional<Value> FakeApi::answer_discovery(const std::string& path) const {
    if (path == "/apis") {
        Value groups = Value::array();
        for (const std::string& group : registry_.groups()) {
            if (group.empty()) continue;
            Value versions = Value::array();
            for (const std::string& version : registry_.versions(group))
                versions.as_array().push_back(Value::object({{"version", version}}));
            Value preferred = versions.as_array().empty() ? Value() : versions.as_array()[0];
            groups.as_array().push_back(
                Value::object({{"name", group}, {"versions", std::move(versions)}, {"preferredVersion", std::move(preferred)}}));
        }
        return Value::object({{"kind", "APIGroupList"}, {"groups", std::move(groups)}});
    }
    const bool core = path.starts_with("/api/"), named = path.starts_with("/apis/");
    if (!core && !named) return std::nullopt;
    const std::string rest = path.substr(core ? 5 : 6);
    if (std::ranges::count(rest, '/') != (core ? 0 : 1)) return std::nullopt;
    const std::string group = core ? "" : rest.substr(0, rest.find('/')), version = core ? rest : rest.substr(rest.find('/') + 1);
    Value resources = Value::array();
    for (const Kind* kind : registry_.resources(group, version)) {
        Value verbs = Value::array();
        for (const std::string_view verb : kind->verbs) verbs.as_array().push_back(verb);
        resources.as_array().push_back(
            Value::object({{"name", kind->plural}, {"kind", kind->kind}, {"namespaced", kind->namespaced()}, {"verbs", std::move(verbs)}}));
    }
    return Value::object({{"kind", "APIResourceList"}, {"resources", std::move(resources)}});
}

Result<FakeApi::Target> FakeApi::resolve(const std::string& path) const {
    std::vector<std::string> parts;
    for (std::size_t start = 1; start <= path.size();) {
        const std::size_t end = std::min(path.find('/', start), path.size());
        parts.push_back(net::percent_decode(std::string_view(path).substr(start, end - start)));
        start = end + 1;
    }
    const Error unknown(Reason::NotFound, "the server could not find the requested resource");
    const std::size_t head = !parts.empty() && parts[0] == "api" ? 2 : 3;
    if (parts.size() <= head) return unknown;
    const std::string group = head == 2 ? "" : parts[1], version = parts[head - 1];
    std::vector<std::string> rest(parts.begin() + static_cast<std::ptrdiff_t>(head), parts.end());
    Target target;
    if (rest.size() >= 3 && rest[0] == "namespaces" && registry_.find_resource(group, version, rest[2])) {
        target.key.namespace_ = rest[1];
        rest.erase(rest.begin(), rest.begin() + 2);
    }
    target.kind = registry_.find_resource(group, version, rest[0]);
    if (!target.kind) return unknown;
    if (rest.size() > 1) target.key.name = rest[1];
    if (rest.size() > 2) target.subresource = rest[2];
    return target;
}

Result<Value> FakeApi::answer(const ApiRequest& request) {
    if (other_)
        if (std::optional<Value> other = other_(request)) return std::move(*other);
    if (const std::optional<Value> discovery = answer_discovery(request.path)) return *discovery;
    TRY(const Target target, resolve(request.path));
    const bool collection = request.method == "DELETE" && target.key.name.empty();
    if (collection && !target.kind->has_verb("deletecollection"))
        return Error(Reason::MethodNotAllowed, "the server does not allow this method on the requested resource");
    if (request.method == "GET" && target.key.name.empty()) return list_objects(target, request.query);
    if (target.subresource == "scale") return scale_object(target, request);
    if (request.method == "GET") {
        const Value* found = find_value(*target.kind, target.key);
        if (!found) return Error(Reason::NotFound, fmt::format("{} \"{}\" not found", target.kind->plural, target.key.name));
        return *found;
    }
    if (request.method == "PATCH") return patch_object(target, request);
    if (request.method == "DELETE" && target.key.name.empty()) {
        std::vector<NamespacedName> keys;
        for (const Value* object : list_values(*target.kind, target.key.namespace_))
            if (matches_query(*object, request.query))
                keys.push_back(
                    {std::string(object->string_at({"metadata", "namespace"})), std::string(object->string_at({"metadata", "name"}))});
        for (const NamespacedName& key : keys) (void)delete_object(*target.kind, key, parse_delete_options(request.body));
        return Value::object({{"kind", "Status"}, {"status", "Success"}});
    }
    if (request.method == "DELETE") return delete_object(*target.kind, target.key, parse_delete_options(request.body));
    TRY(Value body, schema::parse_json(request.body));
    if (request.method == "POST") return create_object(target, std::move(body));
    if (request.method == "PUT") return update_object(target, std::move(body));
    return Error(Reason::MethodNotAllowed, "the server does not allow this method on the requested resource");
}

Result<Value> FakeApi::list_objects(const Target& target, const std::string& query) {
    Value list = Value::object({{"kind", target.kind->list_kind}, {"apiVersion", target.kind->api_version()}});
    list.ensure_path({"metadata", "resourceVersion"}) = std::to_string(revision_);
    Value items = Value::array();
    for (const Value* object : list_values(*target.kind, target.key.namespace_))
        if (matches_query(*object, query)) items.as_array().push_back(*object);
    list["items"] = std::move(items);
    return list;
}

Result<Value> FakeApi::create_object(const Target& target, Value object) {
    if (target.kind->plural == "pods" && (target.subresource == "binding" || target.subresource == "eviction")) {
        if (target.subresource == "eviction") return delete_object(*target.kind, target.key, {});
        const Value* pod = find_value(*target.kind, target.key);
        if (!pod) return Error(Reason::NotFound, "pods \"" + target.key.name + "\" not found");
        Value bound = *pod;
        bound.ensure_path({"spec", "nodeName"}) = object.string_at({"target", "name"});
        commit(*target.kind, target.key, std::move(bound));
        return Value::object({{"kind", "Status"}, {"status", "Success"}});
    }
    if (target.subresource == "token") {
        if (!find_value(*target.kind, target.key)) return Error(Reason::NotFound, "serviceaccounts \"" + target.key.name + "\" not found");
        object.ensure_path({"status", "token"}) = "token of " + target.key.text();
        return object;
    }
    Value& metadata = object.ensure_path({"metadata"});
    if (metadata.string_at({"name"}).empty()) metadata["name"] = fmt::format("{}{:05}", metadata.string_at({"generateName"}), ++names_);
    NamespacedName key{target.key.namespace_, std::string(metadata.string_at({"name"}))};
    if (find_value(*target.kind, key))
        return Error(Reason::AlreadyExists, fmt::format("{} \"{}\" already exists", target.kind->plural, key.name));
    if (!key.namespace_.empty()) metadata["namespace"] = key.namespace_;
    if (target.kind->is(Kind::HasStatus) && target.kind->kind != "Pod") object.erase("status");
    return put_value(*target.kind, std::move(object));
}

Result<Value> FakeApi::update_object(const Target& target, Value object) {
    const Value* found = find_value(*target.kind, target.key);
    if (!found) return Error(Reason::NotFound, fmt::format("{} \"{}\" not found", target.kind->plural, target.key.name));
    const Value old = *found;
    const std::string_view version = object.string_at({"metadata", "resourceVersion"});
    if (!version.empty() && version != old.string_at({"metadata", "resourceVersion"}))
        return Error(Reason::Conflict, fmt::format("Operation cannot be fulfilled on {} \"{}\": the object has been modified",
                                                   target.kind->plural, target.key.name));
    Value next = old;
    if (target.subresource == "status") {
        next["status"] = at(object, "status");
        if (const Value* annotations = object.at_path({"metadata", "annotations"}))
            next.ensure_path({"metadata", "annotations"}) = *annotations;
    } else if (target.subresource == "approval") {
        next["status"]["conditions"] = at(at(object, "status"), "conditions");
    } else if (target.subresource == "finalize") {
        next["spec"] = at(object, "spec");
    } else {
        next = std::move(object);
        if (target.kind->is(Kind::HasStatus)) next["status"] = at(old, "status");
        for (const char* kept : {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"})
            if (const Value* value = old.at_path({"metadata", kept})) next.ensure_path({"metadata", kept}) = *value;
    }
    if (at(next, "status").is_null()) next.erase("status");
    if (next == old) return old;
    if (!(wish(next) == wish(old))) next.ensure_path({"metadata", "generation"}) = at(at(old, "metadata"), "generation").int_or(0) + 1;
    commit(*target.kind, target.key, next);
    const Value* stored = find_value(*target.kind, target.key);
    return stored ? *stored : next;
}

Result<Value> FakeApi::scale_object(const Target& target, const ApiRequest& request) {
    const Value* found = find_value(*target.kind, target.key);
    if (!found) return Error(Reason::NotFound, fmt::format("{} \"{}\" not found", target.kind->plural, target.key.name));
    if (request.method == "PUT") {
        TRY(const Value body, schema::parse_json(request.body));
        Value changed = *found;
        changed.ensure_path({"spec", "replicas"}) = at(at(body, "spec"), "replicas");
        TRY_VOID(update_object({target.kind, target.key, ""}, std::move(changed)));
        found = find_value(*target.kind, target.key);
    }
    std::string selector;
    const Value& labels = at(at(at(*found, "spec"), "selector"), "matchLabels");
    if (labels.is_object())
        for (const schema::Member& one : labels.as_object())
            selector += fmt::format("{}{}={}", selector.empty() ? "" : ",", one.key, one.value.string_or(""));
    Value scale = Value::object({{"kind", "Scale"}, {"apiVersion", "autoscaling/v1"}, {"metadata", at(*found, "metadata")}});
    scale.ensure_path({"spec", "replicas"}) = at(at(*found, "spec"), "replicas").int_or(0);
    scale.ensure_path({"status", "replicas"}) = at(at(*found, "status"), "replicas").int_or(0);
    scale.ensure_path({"status", "selector"}) = std::move(selector);
    return scale;
}

Result<Value> FakeApi::patch_object(const Target& target, const ApiRequest& request) {
    const auto type = schema::parse_patch_type(request.content_type);
    if (!type || *type == schema::PatchType::Apply)
        return Error(Reason::UnsupportedMediaType, "the fake API does not understand " + request.content_type);
    const Value* found = find_value(*target.kind, target.key);
    if (!found) return Error(Reason::NotFound, fmt::format("{} \"{}\" not found", target.kind->plural, target.key.name));
    TRY(const Value patch, schema::parse_json(request.body));
    if (const std::string_view uid = patch.string_at({"metadata", "uid"}); !uid.empty() && uid != found->string_at({"metadata", "uid"}))
        return Error(Reason::Conflict, "Precondition failed: UID in precondition");
    TRY(Value object, schema::apply_patch(*type, *target.kind, *found, patch));
    return update_object(target, std::move(object));
}

Result<Value> FakeApi::delete_object(const Kind& kind, const NamespacedName& key, const DeleteOptions& options) {
    const Value* found = find_value(kind, key);
    if (!found) return Error(Reason::NotFound, fmt::format("{} \"{}\" not found", kind.plural, key.name));
    Value object = *found;
    const bool stale = !options.resource_version.empty() && options.resource_version != object.string_at({"metadata", "resourceVersion"});
    if (stale || (!options.uid.empty() && options.uid != object.string_at({"metadata", "uid"})))
        return Error(Reason::Conflict, "Precondition failed");
    const bool first = object.string_at({"metadata", "deletionTimestamp"}).empty();
    if (first && options.propagation_policy == "Foreground") add_finalizer(object, "foregroundDeletion");
    if (first && options.propagation_policy == "Orphan") add_finalizer(object, "orphan");
    std::int64_t grace = 0;
    if (kind.kind == "Pod" && !object.string_at({"spec", "nodeName"}).empty())
        grace = options.grace_period_seconds.value_or(at(at(object, "spec"), "terminationGracePeriodSeconds").int_or(30));
    if (!first && (grace > 0 || is_held(object))) return object;
    object.ensure_path({"metadata", "deletionTimestamp"}) = Timestamp(loop_.wall_now()).to_string();
    object.ensure_path({"metadata", "deletionGracePeriodSeconds"}) = grace;
    if (kind.kind == "Namespace") object.ensure_path({"status", "phase"}) = "Terminating";
    commit(kind, key, object);
    return object;
}

Value FakeApi::put_value(const Kind& kind, Value object) {
    Value& metadata = object.ensure_path({"metadata"});
    const NamespacedName key{std::string(metadata.string_at({"namespace"})), std::string(metadata.string_at({"name"}))};
    const Value* old = find_value(kind, key);
    if (metadata.string_at({"uid"}).empty()) metadata["uid"] = fmt::format("uid-{}", ++names_);
    if (metadata.string_at({"creationTimestamp"}).empty()) metadata["creationTimestamp"] = Timestamp(loop_.wall_now()).to_string();
    if (!old)
        metadata["generation"] = 1;
    else if (!(wish(*old) == wish(object)))
        metadata["generation"] = at(at(*old, "metadata"), "generation").int_or(0) + 1;
    if (kind.kind == "Namespace" && !old) {
        object.ensure_path({"spec", "finalizers"}) = Value::array({"kubernetes"});
        object.ensure_path({"status", "phase"}) = "Active";
    }
    commit(kind, key, object);
    const Value* stored = find_value(kind, key);
    return stored ? *stored : object;  // a change can be the last thing that a deletion has waited for
}

const Value* FakeApi::find_value(const Kind& kind, const NamespacedName& key) const {
    const auto objects = objects_.find(&kind);
    if (objects == objects_.end()) return nullptr;
    const auto found = objects->second.find(key);
    return found == objects->second.end() ? nullptr : &found->second;
}

std::vector<const Value*> FakeApi::list_values(const Kind& kind, const std::string& namespace_) const {
    std::vector<const Value*> values;
    if (const auto objects = objects_.find(&kind); objects != objects_.end())
        for (const auto& [key, value] : objects->second)
            if (namespace_.empty() || key.namespace_ == namespace_) values.push_back(&value);
    return values;
}

void FakeApi::erase_value(const Kind& kind, const NamespacedName& key) {
    const auto found = objects_[&kind].find(key);
    if (found == objects_[&kind].end()) return;
    Value last = std::move(found->second);
    objects_[&kind].erase(found);
    last.ensure_path({"metadata", "resourceVersion"}) = std::to_string(++revision_);
    publish(kind, "DELETED", last);
}

void FakeApi::commit(const Kind& kind, const NamespacedName& key, Value object) {
    const auto [position, created] = objects_[&kind].try_emplace(key);
    const bool deleting = !object.string_at({"metadata", "deletionTimestamp"}).empty();
    const bool waits = at(at(object, "metadata"), "deletionGracePeriodSeconds").int_or(0) > 0;
    if (deleting && !waits && !is_held(object)) {
        position->second = std::move(object);
        return erase_value(kind, key);
    }
    object.ensure_path({"metadata", "resourceVersion"}) = std::to_string(++revision_);
    position->second = object;
    publish(kind, created ? "ADDED" : "MODIFIED", object);
}

void FakeApi::publish(const Kind& kind, const char* type, const Value& object) {
    history_.push_back({revision_, &kind, type, object});
    for (Stream* stream : streams_) stream->offer(kind, type, object);
}

void FakeApi::drop_watches() {
    for (Stream* stream : streams_) stream->break_off();
}

void FakeApi::expire_watches() {
    history_.clear();
    forgotten_ = revision_ + 1;
    ++revision_;
    for (Stream* stream : streams_) stream->send("ERROR", status_of(Error(Reason::Expired, "too old resource version")));
}

}  // namespace porthole::client
