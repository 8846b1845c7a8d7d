#pragma once
#include <string>

#include "apiserver/kinds/checks.h"

/// Where a webhook is: by URL, or by a service of the cluster.
namespace porthole::apiserver {

void validate_webhook_url(const std::string& url, const FieldPath& path, FieldErrors& errors);
void validate_webhook_path(const std::string& text, const FieldPath& path, FieldErrors& errors);

/// For the client configurations of admission webhooks and conversion webhooks, which have the same fields.
template <class WebhookClientConfig>
void validate_webhook_client(const WebhookClientConfig& client, const FieldPath& path, FieldErrors& errors) {
    if (client.url.has_value() == client.service.has_value()) return errors.required(path, "exactly one of url or service is required");
    if (client.url) return validate_webhook_url(*client.url, path / "url", errors);
    const FieldPath service = path / "service";
    check_required(client.service->name, service / "name", errors);
    check_required(client.service->namespace_, service / "namespace", errors);
    if (client.service->path) validate_webhook_path(*client.service->path, service / "path", errors);
    const std::int32_t port = client.service->port.value_or(443);
    check(port >= 1 && port <= 65535, port, "port is not valid: must be between 1 and 65535, inclusive", service / "port", errors);
}

}  // namespace porthole::apiserver
