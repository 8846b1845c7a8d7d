#include "schema/openapi/openapi.h"

#include <algorithm>
#include <set>
#include <span>

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
    constexpr std::string_view Kinds = "x-kubernetes-group-version-kind";
    const auto counted = [&](const Value& schema) { return schema.as_object().size() - (schema.find(Kinds) ? 1 : 0); };
    return counted(left) == counted(right) && std::ranges::all_of(left.as_object(), [&](const Member& member) {
               const Value* other = right.find(member.key);
               return member.key == Kinds || (other && *other == member.value);
           });
}

/// A definition of the document whose name comes more than once, as its server wrote it.
struct KnownDefinition {
    std::string as;  ///< its name in the document
    std::shared_ptr<const Value> schema;
    std::shared_ptr<const DefinitionNames> names;  ///< those of its part: what its references mean
};
using KnownDefinitions = std::map<std::string, std::vector<KnownDefinition>, std::less<>>;

std::string_view name_among(const DefinitionNames& names, std::string_view name) {
    const auto found = names.find(name);
    return found == names.end() ? name : std::string_view(found->second);
}

/// Finds which definitions of a part are in the document already: the text is the same, and each definition that it refers to is, in turn,
/// the one that the known text refers to. Supposes that all of them are, and gives up what does not hold until the rest does. What
/// is given up too early is in the document twice, which changes no meaning.
class SameDefinitions {
public:
    SameDefinitions(const OpenApiPart& part, const KnownDefinitions& known) {
        for (const Member& definition : part.definitions)
            choices_.emplace(definition.key, Choice(definition.key, &definition.value, known.find(definition.key)->second));
        for (auto& [name, choice] : choices_) {
            collect_references(*choice.schema, choice);
            while (choice.find() && !same_definition(*choice.find()->schema, *choice.schema)) ++choice.chosen;
        }
        for (auto& [name, choice] : choices_)
            if (choice.find() && !fits(choice)) doubt(choice);
        while (!doubted_.empty()) {
            Choice& choice = *doubted_.back();
            doubted_.pop_back();
            give_up(choice);
        }
    }
    /// nullptr for one that is new.
    const KnownDefinition* find(std::string_view name) const { return choices_.find(name)->second.find(); }

private:
    struct Choice {
        std::string_view name;
        const Value* schema = nullptr;
        std::span<const KnownDefinition> known;
        std::size_t chosen = 0;
        bool doubted = false;
        std::set<const Choice*> references;
        std::vector<Choice*> referrers;
        const KnownDefinition* find() const { return chosen < known.size() ? &known[chosen] : nullptr; }
    };

    void collect_references(const Value& value, Choice& choice) {
        if (value.is_array()) {
            for (const Value& item : value.as_array()) collect_references(item, choice);
        } else if (value.is_object()) {
            const auto referred = choices_.find(definition_referred_to(value));
            if (referred != choices_.end() && choice.references.insert(&referred->second).second)
                referred->second.referrers.push_back(&choice);
            for (const Member& member : value.as_object()) collect_references(member.value, choice);
        }
    }
    static bool agrees(const Choice& choice, const Choice& referred) {
        return referred.find() && referred.find()->as == name_among(*choice.find()->names, referred.name);
    }
    static bool fits(const Choice& choice) {
        return same_definition(*choice.find()->schema, *choice.schema) &&
               std::ranges::all_of(choice.references, [&](const Choice* referred) { return agrees(choice, *referred); });
    }
    void doubt(Choice& choice) {
        if (!std::exchange(choice.doubted, true)) doubted_.push_back(&choice);
    }
    /// The next one of that name, or none; who counted on it is looked at again.
    void give_up(Choice& choice) {
        choice.doubted = false;
        do {
            ++choice.chosen;
        } while (choice.find() && !fits(choice));
        for (Choice* referrer : choice.referrers)
            if (referrer->find() && !agrees(*referrer, choice)) doubt(*referrer);
    }

    std::map<std::string_view, Choice> choices_;
    std::vector<Choice*> doubted_;
};

/// Copies only what has to be changed.
void visit_renamed(const Value& value, const DefinitionNames& names, const std::function<void(const Value&)>& visit) {
    if (names.empty()) return visit(value);
    visit(with_names(value, names));
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
        if (const auto found = shared_.find(name); found != shared_.end())
            found->second = {{name, std::make_shared<Value>(schema), std::make_shared<DefinitionNames>()}};
    }
    /// Under which names the definitions of a part are in the document. `add` is called for those that are new to it.
    std::shared_ptr<const DefinitionNames> add(const std::shared_ptr<const OpenApiPart>& part, const V2Sink& sink) {
        const auto names = std::make_shared<DefinitionNames>();
        std::vector<std::pair<std::string, const Member*>> added;
        {
            const SameDefinitions same(*part, shared_);
            for (const Member& definition : part->definitions) {
                const KnownDefinition* known = same.find(definition.key);
                std::string as = known ? known->as : free_name(definition.key);
                if (!known) added.emplace_back(as, &definition);
                if (as != definition.key) names->emplace(definition.key, std::move(as));
            }
        }
        for (const auto& [as, definition] : added) {
            shared_[definition->key].push_back({as, std::shared_ptr<const Value>(part, &definition->value), names});
            visit_renamed(definition->value, *names, [&](const Value& schema) { sink.definition(as, schema); });
        }
        return names;
    }

private:
    std::string free_name(const std::string& name) {
        std::string free = name;
        for (int number = 2; !taken_.insert(free).second; ++number) free = name + "_v" + std::to_string(number);
        return free;
    }

    std::set<std::string> taken_;
    KnownDefinitions shared_;
};

void write_v2(const Registry& registry, const RunTimeSchemas& run_time, const OpenApi::Others& others, const V2Sink& sink) {
    SchemaObjects schemas(Dialect::V2, registry, run_time);
    PathItems items(Dialect::V2, registry, schemas);
    for (const Kind* kind : served_kinds(registry))
        if (!others.v2_parts.contains(api_path(kind->group, kind->version))) items.visit(*kind, sink.path);
    MergedDefinitions definitions(others);
    schemas.visit_definitions([&](const std::string& name, const Value& schema) {
        definitions.add_own(name, schema);
        sink.definition(name, schema);
    });
    for (const auto& [path, part] : others.v2_parts) {
        const auto names = definitions.add(part, sink);
        for (const Member& one : part->paths) visit_renamed(one.value, *names, [&](const Value& item) { sink.path(one.key, item); });
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
            schemas.visit_definitions([&](const std::string& name, const Value& schema) { members.add(name, schema); });
        }
        components.add("securitySchemes", bearer_token());
    }
    return out;
}

/// "api/v1" and "apis/apps/v1" to the kinds they serve.
std::map<std::string, std::vector<const Kind*>> kinds_by_path(const Registry& registry) {
    std::map<std::string, std::vector<const Kind*>> kinds;
    for (const Kind* kind : served_kinds(registry)) {
        kinds[api_path(kind->group, kind->version)].push_back(kind);
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
    const std::string path = api_path(group, version);
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
