#include "schema/patch/unowned_fields.h"

namespace porthole::schema {
namespace {

FieldSet branch(const std::string& step) {
    FieldSet fields;
    fields.below(step).insert();
    return fields;
}

/// The object's identity and what the server alone sets: nobody owns it.
const FieldSet& unowned_fields() {
    static const FieldSet fields = [] {
        FieldSet made;
        for (const char* name : {"f:apiVersion", "f:kind"}) made.below(name).insert();
        for (const char* name : {"f:name", "f:namespace", "f:creationTimestamp", "f:selfLink", "f:uid", "f:clusterName", "f:generation",
                                 "f:managedFields", "f:resourceVersion"}) {
            made.below("f:metadata").below(name).insert();
        }
        return made;
    }();
    return fields;
}

}  // namespace

void leave_unowned(FieldSet& fields, const Kind& kind, std::string_view subresource) {
    static const FieldSet metadata = branch("f:metadata"), spec = branch("f:spec"), status = branch("f:status");
    if (fields.empty()) return;
    fields.remove_recursively(unowned_fields());
    // What this request cannot change.
    if (subresource.empty() && kind.is(Kind::HasStatus)) fields.remove_recursively(status);
    if (subresource == "status") fields.remove_recursively(spec);
    // `metadata` itself is nobody's, what is in it may be somebody's.
    fields.remove(metadata);
}

}  // namespace porthole::schema
