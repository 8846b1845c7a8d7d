#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schema/openapi/openapi_part.h"
#include "schema/openapi/schema_objects.h"
#include "schema/registry.h"

namespace porthole::schema {

/// A finished document, shared by all answers that send it.
struct OpenApiDocument {
    std::shared_ptr<const std::string> body;
    std::string hash;  ///< for ETag and ?hash=
};

/// The OpenAPI documents of a registry and of other servers' resources. Each is built on first use and cached until a change is reported.
/// Not thread-safe; a document's body may outlive this.
class OpenApi {
public:
    /// The documents of other servers, by the path of a group version ("apis/wardle.example.com/v1"). They replace ours.
    struct Others {
        std::map<std::string, std::string> v3_hashes;
        std::map<std::string, std::shared_ptr<const OpenApiPart>> v2_parts;
        bool operator==(const Others&) const = default;
    };

    /// `registry` must outlive this. `version` is the server's, "v1.36.0".
    OpenApi(const Registry& registry, std::string version, RunTimeSchemas schemas = {})
        : registry_(registry), version_(std::move(version)), schemas_(std::move(schemas)) {}

    /// The kinds of a group and version have changed, or there are none any more.
    void forget(std::string_view group, std::string_view version);
    void set_others(Others others);

    /// One document for all servers. A definition of another server whose name has another meaning here is renamed NAME_v2 (_v3, …).
    const OpenApiDocument& v2_json();
    /// The gnostic protobuf form, which kubectl before 1.27 must have.
    const OpenApiDocument& v2_protobuf();
    /// /openapi/v3: the index of our documents and those of others, with their hashes.
    const OpenApiDocument& v3_index();
    /// /openapi/v3/{path}, such as "api/v1" or "apis/apps/v1": ours, or converted from another server's part of version 2; nullptr: 404.
    const OpenApiDocument* v3(std::string_view path);

private:
    void forget_shared();

    const Registry& registry_;
    std::string version_;
    RunTimeSchemas schemas_;
    std::optional<OpenApiDocument> v2_json_, v2_protobuf_, v3_index_;
    std::map<std::string, OpenApiDocument, std::less<>> v3_;
    std::map<std::string, std::string, std::less<>> v3_hashes_;  ///< of all that is ours and that the index names
    Others others_;
};

}  // namespace porthole::schema
