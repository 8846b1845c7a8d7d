#pragma once
#include "apiserver/admission/admission.h"
#include "apiserver/authentication/service_account_tokens.h"
#include "apiserver/reviews/reviews.h"
#include "apiserver/server.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// Answers POSTs of `resources`. The references outlive the server.
void add_review_routes(Server& server, const schema::Registry& registry, std::vector<VirtualResource> resources);
/// serviceaccounts/token, and the documents with which others verify tokens.
void add_token_routes(Server& server, const schema::Registry& registry, const ServiceAccountTokens& tokens,
                      const AdmissionChain& admission);

}  // namespace porthole::apiserver
