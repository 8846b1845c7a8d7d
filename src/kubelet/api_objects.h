#pragma once
#include "client/client.h"
#include "kubelet/container/environment.h"
#include "kubelet/volumes/framework/token_source.h"

namespace porthole::kubelet {

/// ConfigMaps and Secrets from the API, cached for a few seconds so that the containers of a pod see one state, as far as they fit into
/// MostBytes: a pod may refer to very many. A kubelet may only read objects that its own pods refer to, by name, so it cannot watch them.
/// That one is missing is remembered for a second, and for longer if very many are missing, so that they are not all asked for at each look
/// at a pod: a hundred of them a second, and each after half a minute at the latest.
/// Errors: NotFound, and as Client::get().
class ApiObjects final : public ObjectSource {
public:
    static constexpr std::size_t MostBytes = 64 << 20;  ///< of ConfigMaps, and of Secrets

    ApiObjects(EventLoop& loop, client::Client& client, Duration keep = std::chrono::seconds(10))
        : loop_(loop), client_(client), keep_(keep) {}

    Task<std::shared_ptr<const core::ConfigMap>> config_map(std::string namespace_, std::string name) override;
    Task<std::shared_ptr<const core::Secret>> secret(std::string namespace_, std::string name) override;

private:
    template <class T>
    struct Cache {
        struct Entry {
            std::shared_ptr<const T> object;
            std::size_t bytes = 0;
            MonotonicTime read;
        };
        std::map<client::NamespacedName, Entry> entries;
        std::size_t bytes = 0;                                    ///< of all entries
        std::map<client::NamespacedName, MonotonicTime> missing;  ///< and until when they are not asked for
        MonotonicTime next_sweep;
    };
    template <class T>
    void sweep(Cache<T>& cache);
    template <class T>
    void remember_missing(Cache<T>& cache, const client::NamespacedName& key);
    template <class T>
    Task<std::shared_ptr<const T>> fetch(Cache<T>& cache, client::NamespacedName key);

    EventLoop& loop_;
    client::Client& client_;
    Duration keep_;
    Cache<core::ConfigMap> config_maps_;
    Cache<core::Secret> secrets_;
};

/// Service account tokens from TokenRequest, bound to the pod and cached for four fifths of their lifetime (at most a day). If no new one
/// is available, an old one that is still valid is returned. Time is counted from the answer, whatever the wall clock says then.
class ApiTokens final : public TokenSource {
public:
    ApiTokens(EventLoop& loop, client::Client& client) : loop_(loop), client_(client) {}

    Task<ServiceAccountToken> token(std::shared_ptr<const core::Pod> pod, std::string audience, std::int64_t seconds) override;
    void forget_pod(const std::string& uid) override;

private:
    struct Entry {
        ServiceAccountToken token;
        SystemTime renew_at;              ///< also while the machine is suspended, when monotonic time stands still
        MonotonicTime renew_by{}, end{};  ///< also after the wall clock was set back
    };
    EventLoop& loop_;
    client::Client& client_;
    std::map<std::string, Entry> tokens_;  // by "<pod uid>/<seconds>/<audience>"
};

}  // namespace porthole::kubelet
