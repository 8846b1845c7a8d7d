#pragma once
#include "apiserver/handlers/request_context.h"
#include "apiserver/request/options.h"
#include "apiserver/validation/api_object.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// The request's body as an object of `kind`, conformed to its tables; warnings are added to the context.
/// Errors: BadRequest, UnsupportedMediaType.
Result<ApiObject> decode_body(RequestContext& context, const schema::Registry& registry, const schema::Kind& kind,
                              FieldValidation validation);

/// A body that may be absent and whose kind does not follow from the path, such as DeleteOptions: null if it is empty. Errors as above.
Result<schema::Value> decode_optional_body(RequestContext& context, const schema::Registry& registry);

/// Conforms a tree that is not a request's body, such as a patched object.
Result<ApiObject> conform(const schema::Kind& kind, schema::Value tree, FieldValidation validation, std::vector<std::string>& warnings);
/// UnsupportedMediaType, for a body whose media type is not that of a patch.
Error unknown_patch_type();

}  // namespace porthole::apiserver
