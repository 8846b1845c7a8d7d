#include "schema/patch/unowned_fields.h"

namespace porthole::schema {
namespace {

/// The object's identity and what the server alone sets, and one more field of the object, or "".
FieldSet make_unowned(const char* another) {
    FieldSet made;
    for (const char* name : {"f:apiVersion", "f:kind"}) made.below(name).insert();
    for (const char* name : {"f:name", "f:namespace", "f:creationTimestamp", "f:selfLink", "f:uid", "f:clusterName", "f:generation",
                             "f:managedFields", "f:resourceVersion"}) {
        made.below("f:metadata").below(name).insert();
    }
    if (*another) made.below(another).insert();
    return made;
}

}  // namespace

const FieldSet& unowned_fields(const Kind& kind, std::string_view subresource) {
    static const FieldSet common = make_unowned(""), and_status = make_unowned("f:status"), and_spec = make_unowned("f:spec");
    if (subresource == "status") return and_spec;
    return subresource.empty() && kind.is(Kind::HasStatus) ? and_status : common;
}

void leave_unowned(FieldSet& fields, const Kind& kind, std::string_view subresource) {
    static const FieldSet metadata = [] {
        FieldSet made;
        made.below("f:metadata").insert();
        return made;
    }();
    if (fields.empty()) return;
    fields.remove_recursively(unowned_fields(kind, subresource));
    // `metadata` itself is nobody's, what is in it may be somebody's.
    fields.remove(metadata);
}

}  // namespace porthole::schema
