#pragma once
#include <map>
#include <set>
#include <string>

#include "apiserver/aggregation/api_service_order.h"
#include "apiserver/storage/mirror.h"
#include "client/client.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// Maintains the APIService objects of this server's own group versions, by upstream's rules: those of built-in ones are created and
/// corrected once after a start, those of custom resources always; an object with the label whose group version is no longer served is
/// deleted. An object without the label is not changed, nor is one with "onstart" that was created since the start.
class LocalApiServices {
public:
    LocalApiServices(const schema::Registry& registry, const ObjectMap<APIService>& objects) : registry_(registry), objects_(objects) {}

    /// The priority of a group version of this server, unless an object overrides it.
    ApiPriority priority_of(const std::string& group, const std::string& version) const;
    /// Brings all objects to their wanted state. Safe to repeat. The first call is the start. Error: the first that is not a conflict.
    Task<> sync(client::Client& client);

private:
    std::map<std::string, APIService> wanted() const;
    bool is_custom(std::string_view group, std::string_view version) const;
    Task<> sync_one(client::Client& client, std::string name, std::optional<APIService> wanted);
    Task<> change(client::Client& client, const APIService* present, std::optional<APIService> wanted);

    const schema::Registry& registry_;
    const ObjectMap<APIService>& objects_;
    bool started_ = false;
    std::set<std::string> at_start_, synced_;
};

}  // namespace porthole::apiserver
