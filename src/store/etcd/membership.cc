#include "store/etcd/membership.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::store::etcd {

Task<std::vector<ClusterMember>> readmit(Client& client, std::string peer_url) {
    CO_TRY(const MemberListResponse known, co_await client.members());
    for (const ClusterMember& member : known.members) {
        if (std::ranges::find(member.peer_urls, peer_url) == member.peer_urls.end()) continue;
        CO_TRY_VOID(co_await client.remove_member({.id = member.id}));
    }
    CO_TRY(MemberAddResponse added, co_await client.add_member({.peer_urls = {peer_url}}));
    co_return std::move(added.members);
}

}  // namespace porthole::store::etcd
