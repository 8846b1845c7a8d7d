#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "apiserver/kinds/apiextensions/definition_status.h"
#include "apiserver/resources/version_converter.h"
#include "schema/fields/owned_types.h"

namespace porthole::apiserver {

/// Everything needed to serve the resource of one definition: tables, strategies and resources, one of each for every version, made from
/// their schemas. Immutable. Resources share its ownership: it lives as long as a request uses one of them.
class CustomKind : public std::enable_shared_from_this<CustomKind> {
public:
    /// `form` is the number of the first resource, see Resource::form; the next ones follow. `converter` converts to versions other than
    /// the stored one; without it they differ in apiVersion only. Error: Invalid for a schema that validation should have refused.
    static Result<std::shared_ptr<const CustomKind>> create(const CustomResourceDefinition& definition, std::uint64_t& form,
                                                            std::unique_ptr<VersionConverter> converter = nullptr);
    ~CustomKind();

    /// The stored version first, then the other served versions.
    std::vector<ResourcePtr> resources() const;
    /// The schema from which one of its types was made; nullopt for other types.
    std::optional<schema::Value> schema_of(const schema::Type& type) const;

private:
    struct Version;
    struct Deleter {
        void operator()(Version* version) const;
    };
    CustomKind();

    std::unique_ptr<VersionConverter> converter_;
    std::vector<std::unique_ptr<Version, Deleter>> versions_;
};

}  // namespace porthole::apiserver
