#include "schema/openapi/openapi.h"

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

std::string build_v2_json(const Registry& registry, const RunTimeSchemas& run_time, const std::string& version) {
    std::string out;
    SchemaObjects schemas(Dialect::V2, registry, run_time);
    {
        MemberWriter document(out);
        document.add("swagger", "2.0");
        document.add("info", Value::object({{"title", Title}, {"version", version}}));
        document.begin("paths");
        {
            MemberWriter paths(out);
            PathItems items(Dialect::V2, registry, schemas);
            for (const Kind* kind : served_kinds(registry)) {
                items.visit(*kind, [&](const std::string& path, Value item) { paths.add(path, item); });
            }
        }
        document.begin("definitions");
        {
            MemberWriter definitions(out);
            write_definitions(schemas, definitions);
        }
        document.add("securityDefinitions", bearer_token());
        document.add("security", Value::array({Value::object({{"BearerToken", Value::array()}})}));
    }
    return out;
}

std::string build_v2_protobuf(const Registry& registry, const RunTimeSchemas& run_time, const std::string& version) {
    std::string paths, definitions, name;
    SchemaObjects schemas(Dialect::V2, registry, run_time);
    PathItems items(Dialect::V2, registry, schemas);
    for (const Kind* kind : served_kinds(registry)) {
        items.visit(*kind, [&](const std::string& path, const Value& item) { append_gnostic_path(path, item, paths); });
    }
    for (Value schema; schemas.next_definition(name, schema);) append_gnostic_definition(name, schema, definitions);
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
        kinds[(kind->group.empty() ? "api/" : "apis/") + kind->api_version()].push_back(kind);
    }
    return kinds;
}

}  // namespace

void OpenApi::forget(std::string_view group, std::string_view version) {
    v2_json_.reset();
    v2_protobuf_.reset();
    v3_index_.reset();
    const std::string path = (group.empty() ? "api/" : "apis/") + join_api_version(group, version);
    v3_.erase(path);
    v3_hashes_.erase(path);
}

const OpenApiDocument& OpenApi::v2_json() {
    if (!v2_json_) v2_json_ = finished(build_v2_json(registry_, schemas_, version_));
    return *v2_json_;
}

const OpenApiDocument& OpenApi::v2_protobuf() {
    if (!v2_protobuf_) v2_protobuf_ = finished(build_v2_protobuf(registry_, schemas_, version_));
    return *v2_protobuf_;
}

const OpenApiDocument& OpenApi::v3_index(const Others& others) {
    if (v3_index_ && others_ == others) return *v3_index_;
    others_ = others;
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
    for (const auto& [path, hash] : others) add(path, hash);
    v3_index_ = finished(to_json(Value::object({{"paths", std::move(paths)}})));
    return *v3_index_;
}

const OpenApiDocument* OpenApi::v3(std::string_view path) {
    if (const auto known = v3_.find(path); known != v3_.end()) return &known->second;
    const auto kinds = kinds_by_path(registry_);
    const auto found = kinds.find(std::string(path));
    if (found == kinds.end()) return nullptr;
    return &v3_.emplace(found->first, finished(build_v3(registry_, schemas_, version_, found->second))).first->second;
}

}  // namespace porthole::schema
