#include "api/core_v1.h"
#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::ServiceAccount;

/// Of the secrets only the names mean anything.
void keep_secret_names(ServiceAccount& object) {
    for (auto& secret : object.secrets) secret = {.name = secret.name};
}
void prepare_for_create(ServiceAccount& object, const WriteContext&) { keep_secret_names(object); }
void prepare_for_update(ServiceAccount& object, const ServiceAccount&, const WriteContext&) { keep_secret_names(object); }
void validate(const ServiceAccount&, FieldErrors&) {}

}  // namespace

Strategy service_account_strategy() {
    return strategy_for<ServiceAccount>(
        {.prepare_for_create = prepare_for_create, .prepare_for_update = prepare_for_update, .validate = validate});
}

}  // namespace porthole::apiserver
