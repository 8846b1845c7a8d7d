#include "schema/openapi/openapi.h"

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "schema/json/json.h"
#include "schema/openapi/gnostic.h"
#include "schema/openapi/path_items.h"

namespace porthole::schema {
namespace {

constexpr std::string_view Title = "Kubernetes";  // clients show it, some look for it

OpenApiDocument finished(std::string body) {
    body.shrink_to_fit();
    std::string hash = content_hash(body);
    return {std::make_shared<const std::string>(std::move(body)), std::move(hash)};
}

/// The members of a JSON object, one after another: documents are too large to be built as trees first.
class MemberWriter {
public:
    explicit MemberWriter(std::string& out) : out_(out) { out_ += '{'; }
    ~MemberWriter() { out_ += '}'; }
    void add(std::string_view name, const Value& value) {
        begin(name);
        append_json(value, out_);
    }
    void add_json(std::string_view name, std::string_view json) {
        begin(name);
        out_ += json;
    }
    void begin(std::string_view name) {
        if (!std::exchange(first_, false)) out_ += ',';
        append_json_string(name, out_);
        out_ += ':';
    }

private:
    std::string& out_;
    bool first_ = true;
};

std::vector<const Kind*> served_kinds(const Registry& registry) {
    std::vector<const Kind*> kinds;
    for (const std::string& group : registry.groups()) {
        for (const std::string& version : registry.versions(group)) {
            for (const Kind* kind : registry.resources(group, version)) {
                if (kind->type) kinds.push_back(kind);
            }
        }
    }
    return kinds;
}

/// "api/v1", "apis/apps/v1"
std::string path_of(const Kind& kind) { return (kind.group.empty() ? "api/" : "apis/") + kind.api_version(); }

void write_definitions(SchemaObjects& schemas, MemberWriter& members) {
    std::string name;
    Value schema;
    while (schemas.next_definition(name, schema)) members.add(name, schema);
}

Value bearer_token() {
    return Value::object(
        {{"BearerToken",
          Value::object(
              {{"description", "Bearer Token authentication"}, {"type", "apiKey"}, {"name", "authorization"}, {"in", "header"}})}});
}

/// What is added to the one document of version 2.
struct V2Sink {
    std::function<void(const std::string& path, const Value& item)> path;
    std::function<void(const std::string& name, const Value& schema)> definition;
};

/// Definitions are equal whatever kinds of whichever groups they are said to be.
bool same_definition(const Value& left, const Value& right) {
    const auto bare = [](Value schema) {
        schema.erase("x-kubernetes-group-version-kind");
        return schema;
    };
    return bare(left) == bare(right);
}

/// The definitions of the document by name, as far as a name comes more than once.
class MergedDefinitions {
public:
    explicit MergedDefinitions(const OpenApi::Others& others) {
        for (const auto& [path, part] : others.v2_parts)
            for (const Member& definition : part->definitions) shared_[definition.key];
    }
    void add_own(const std::string& name, const Value& schema) {
        taken_.insert(name);
        if (const auto found = shared_.find(name); found != shared_.end()) found->second = {{name, schema}};
    }
    /// Under which names the definitions of a part are in the document. `add` is called for those that are new to it.
    DefinitionNames add(const OpenApiPart& part, const V2Sink& sink) {
        DefinitionNames names;
        std::vector<std::pair<std::string, const Value*>> added;
        for (const auto& [name, schema] : part.definitions) {
            std::vector<std::pair<std::string, Value>>& known = shared_[name];
            const auto same = std::ranges::find_if(known, [&](const auto& one) { return same_definition(one.second, schema); });
            std::string as = same != known.end() ? same->first : free_name(name);
            if (same == known.end()) {
                known.emplace_back(as, schema);
                added.emplace_back(as, &schema);
            }
            if (as != name) names.emplace(name, std::move(as));
        }
        for (const auto& [name, schema] : added) sink.definition(name, with_names(*schema, names));
        return names;
    }

private:
    std::string free_name(const std::string& name) {
        std::string free = name;
        for (int number = 2; !taken_.insert(free).second; ++number) free = name + "_v" + std::to_string(number);
        return free;
    }

    std::set<std::string> taken_;
    std::map<std::string, std::vector<std::pair<std::string, Value>>> shared_;  ///< as their server wrote them, with their names here
};

void write_v2(const Registry& registry, const RunTimeSchemas& run_time, const OpenApi::Others& others, const V2Sink& sink) {
    SchemaObjects schemas(Dialect::V2, registry, run_time);
    PathItems items(Dialect::V2, registry, schemas);
    for (const Kind* kind : served_kinds(registry))
        if (!others.v2_parts.contains(path_of(*kind))) items.visit(*kind, sink.path);
    MergedDefinitions definitions(others);
    std::string name;
    for (Value schema; schemas.next_definition(name, schema);) {
        definitions.add_own(name, schema);
        sink.definition(name, schema);
    }
    for (const auto& [path, part] : others.v2_parts) {
        const DefinitionNames names = definitions.add(*part, sink);
        for (const Member& one : part->paths) sink.path(one.key, with_names(one.value, names));
    }
}

std::string build_v2_json(const Registry& registry, const RunTimeSchemas& run_time, const std::string& version,
                          const OpenApi::Others& others) {
    std::string paths, definitions, out;
    {
        MemberWriter path_members(paths), definition_members(definitions);
        write_v2(registry, run_time, others,
                 {.path = [&](const std::string& path, const Value& item) { path_members.add(path, item); },
                  .definition = [&](const std::string& name, const Value& schema) { definition_members.add(name, schema); }});
    }
    {
        MemberWriter document(out);
        document.add("swagger", "2.0");
        document.add("info", Value::object({{"title", Title}, {"version", version}}));
        document.add_json("paths", paths);
        document.add_json("definitions", definitions);
        document.add("securityDefinitions", bearer_token());
        document.add("security", Value::array({Value::object({{"BearerToken", Value::array()}})}));
    }
    return out;
}

std::string build_v2_protobuf(const Registry& registry, const RunTimeSchemas& run_time, const std::string& version,
                              const OpenApi::Others& others) {
    std::string paths, definitions;
    write_v2(registry, run_time, others,
             {.path = [&](const std::string& path, const Value& item) { append_gnostic_path(path, item, paths); },
              .definition = [&](const std::string& name, const Value& schema) { append_gnostic_definition(name, schema, definitions); }});
    return gnostic_document(Title, version, paths, definitions);
}

std::string build_v3(const Registry& registry, const RunTimeSchemas& run_time, const std::string& version,
                     const std::vector<const Kind*>& kinds) {
    std::string out;
    SchemaObjects schemas(Dialect::V3, registry, run_time);
    {
        MemberWriter document(out);
        document.add("openapi", "3.0.0");
        document.add("info", Value::object({{"title", Title}, {"version", version}}));
        document.begin("paths");
        {
            MemberWriter paths(out);
            PathItems items(Dialect::V3, registry, schemas);
            for (const Kind* kind : kinds) {
                items.visit(*kind, [&](const std::string& path, Value item) { paths.add(path, item); });
            }
        }
        document.begin("components");
        MemberWriter components(out);
        components.begin("schemas");
        {
            MemberWriter members(out);
            write_definitions(schemas, members);
        }
        components.add("securitySchemes", bearer_token());
    }
    return out;
}

/// "api/v1" and "apis/apps/v1" to the kinds they serve.
std::map<std::string, std::vector<const Kind*>> kinds_by_path(const Registry& registry) {
    std::map<std::string, std::vector<const Kind*>> kinds;
    for (const Kind* kind : served_kinds(registry)) {
        kinds[path_of(*kind)].push_back(kind);
    }
    return kinds;
}

}  // namespace

void OpenApi::forget_shared() {
    v2_json_.reset();
    v2_protobuf_.reset();
    v3_index_.reset();
}

void OpenApi::set_others(Others others) {
    if (others == others_) return;
    forget_shared();
    for (const auto& [path, part] : others_.v2_parts) v3_.erase(path);
    for (const auto& [path, part] : others.v2_parts) v3_.erase(path);
    others_ = std::move(others);
}

void OpenApi::forget(std::string_view group, std::string_view version) {
    forget_shared();
    const std::string path = (group.empty() ? "api/" : "apis/") + join_api_version(group, version);
    v3_.erase(path);
    v3_hashes_.erase(path);
}

const OpenApiDocument& OpenApi::v2_json() {
    if (!v2_json_) v2_json_ = finished(build_v2_json(registry_, schemas_, version_, others_));
    return *v2_json_;
}

const OpenApiDocument& OpenApi::v2_protobuf() {
    if (!v2_protobuf_) v2_protobuf_ = finished(build_v2_protobuf(registry_, schemas_, version_, others_));
    return *v2_protobuf_;
}

const OpenApiDocument& OpenApi::v3_index() {
    if (v3_index_) return *v3_index_;
    Value paths = Value::object();
    const auto add = [&](const std::string& path, const std::string& hash) {
        paths[path] = Value::object({{"serverRelativeURL", "/openapi/v3/" + path + "?hash=" + hash}});
    };
    for (const auto& [path, kinds] : kinds_by_path(registry_)) {
        // Only the hash is needed here, and a client reads few of the documents: their bodies are not kept.
        std::string& hash = v3_hashes_[path];
        if (hash.empty()) hash = content_hash(build_v3(registry_, schemas_, version_, kinds));
        add(path, hash);
    }
    for (const auto& [path, part] : others_.v2_parts)
        if (!others_.v3_hashes.contains(path)) add(path, v3(path)->hash);
    for (const auto& [path, hash] : others_.v3_hashes) add(path, hash);
    v3_index_ = finished(to_json(Value::object({{"paths", std::move(paths)}})));
    return *v3_index_;
}

const OpenApiDocument* OpenApi::v3(std::string_view path) {
    if (const auto known = v3_.find(path); known != v3_.end()) return &known->second;
    if (const auto part = others_.v2_parts.find(std::string(path)); part != others_.v2_parts.end()) {
        Value document = Value::object({{"openapi", "3.0.0"}, {"info", Value::object({{"title", Title}, {"version", version_}})}});
        for (Member& member : to_v3(*part->second).as_object()) document[member.key] = std::move(member.value);
        return &v3_.emplace(path, finished(to_json(document))).first->second;
    }
    const auto kinds = kinds_by_path(registry_);
    const auto found = kinds.find(std::string(path));
    if (found == kinds.end()) return nullptr;
    return &v3_.emplace(found->first, finished(build_v3(registry_, schemas_, version_, found->second))).first->second;
}

}  // namespace porthole::schema
