#pragma once  // private to winhost/images
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "runtime/sync.h"
#include "runtime/worker_pool.h"
#include "winhost/images/content/files.h"
#include "winhost/images/content/image_source.h"

namespace porthole::winhost {

/// The unpacked layers: `<root>/layers/<key>` for each, `<root>/layers/<key>.base` for one that was found to be a part of Windows, and
/// `<root>/work` for those being unpacked. A directory appears under its key complete or not at all.
///
/// A key identifies a layer, all layers below it and the template, because names are mapped onto those below. Lives on one loop; unpacking
/// and deleting run in `pool`, which outlives it.
class LayerStore {
public:
    struct Options {
        std::string root, drive_path, template_id;
        std::vector<std::string> template_lowers;
    };
    using Hold = std::shared_ptr<const void>;

    LayerStore(Options options, WorkerPool& pool, Logger log);
    /// Creates the directories and records what an earlier run left incomplete.
    Result<void> open();

    struct Stack {
        std::vector<std::string> keys;  ///< topmost first
        bool base_substituted = false;
        Hold hold;
    };
    /// Makes sure that all layers are present. Concurrent calls share common layers.
    Task<Stack> ensure(std::vector<LayerPlan> layers, LayerSupply& supply);

    std::string folder(const std::string& key) const { return layers_ + "/" + key; }
    /// Harmless for keys that do not exist.
    Hold hold(const std::vector<std::string>& keys);
    /// Removes layers that are neither `wanted` nor held, and leftovers of earlier runs.
    Task<> collect(std::set<std::string> wanted);
    Task<TreeUsage> usage();
    /// A new name below `work`.
    std::string scratch(const std::string& what);

private:
    using Done = std::shared_ptr<Promise<void>>;

    bool exists(const std::string& key) const;
    bool is_base(const std::string& key) const;
    std::string key_of(const std::string& below, const std::string& diff_id) const;
    Task<> ensure_layer(std::string key, LayerPlan layer, std::vector<std::string> below, LayerSupply& supply);
    Task<> make_layer(std::string key, LayerPlan layer, std::vector<std::string> below, LayerSupply& supply);
    Result<void> unpack(const BlobPlace& blob, const LayerPlan& layer, const std::vector<std::string>& below, const std::string& folder,
                        const std::string& key);

    Options options_;
    WorkerPool& pool_;
    Logger log_;
    std::string layers_, work_;
    std::vector<std::string> stale_;  ///< left in `work` by an earlier run
    std::uint64_t next_ = 0;
    std::map<std::string, Done> under_way_;
    std::shared_ptr<std::map<std::string, int>> holds_ = std::make_shared<std::map<std::string, int>>();
    std::map<std::string, TreeUsage> sizes_;
};

}  // namespace porthole::winhost
