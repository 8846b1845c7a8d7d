#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "apiserver/kinds/apiextensions/definition_status.h"
#include "apiserver/resources/version_converter.h"
#include "schema/fields/owned_types.h"

namespace porthole::apiserver {

/// What serves the resource of one definition: tables, strategies and resources, one of each for every version, made of their schemas.
/// Immutable once made. Resources share its ownership: it lives as long as a request uses one of them.
class CustomKind : public std::enable_shared_from_this<CustomKind> {
public:
    /// `form` numbers the resources, and the next ones: see Resource::form. `converter` is asked for other versions than the stored one;
    /// without it they differ in apiVersion only. Error: Invalid for a schema that validation should have refused.
    static Result<std::shared_ptr<const CustomKind>> create(const CustomResourceDefinition& definition, std::uint64_t& form,
                                                            std::unique_ptr<VersionConverter> converter = nullptr);
    ~CustomKind();

    /// The version that is stored first, then the others that are served.
    std::vector<ResourcePtr> resources() const;
    /// The schema that a type of it was made of; nullopt for other types.
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
