#pragma once
#include <string>
#include <vector>

#include "schema/value.h"

namespace porthole::windows::lint {

/// An object of Kubernetes in a document. Borrows the document.
struct Object {
    const schema::Value* value = nullptr;
    std::string path;  ///< in the document: "", "items[2]"
    std::string pod;   ///< the path of its pod spec: "spec.template.spec"; "" if it has none
};

/// The document's object, or those of its List.
std::vector<Object> objects_in(const schema::Value& document);

/// "Deployment default/web".
std::string name_of(const schema::Value& object);

/// `below` at `path`; either may be "".
std::string joined(std::string_view path, std::string_view below);

}  // namespace porthole::windows::lint
