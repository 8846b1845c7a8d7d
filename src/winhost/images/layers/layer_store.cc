#include "winhost/images/layers/layer_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "net/tls/crypto.h"
#include "runtime/files/durable_file.h"
#include "winhost/images/content/byte_source.h"
#include "winhost/images/layers/layer_unpacker.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// Short, because overlayfs takes all paths of a mount in one page.
constexpr std::size_t KeySize = 24;
constexpr std::string_view BaseSuffix = ".base";

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) names.push_back(at->path().filename());
    std::ranges::sort(names);
    return names;
}

Result<void> sync_file_system(const std::string& folder) {
    const FileDescriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!at || ::syncfs(at.get()) != 0) return io_error("writing", folder);
    return {};
}

}  // namespace

LayerStore::LayerStore(Options options, WorkerPool& pool, Logger log)
    : options_(std::move(options)), pool_(pool), log_(std::move(log)), layers_(options_.root + "/layers"), work_(options_.root + "/work") {}

Result<void> LayerStore::open() {
    TRY_VOID(make_folders(layers_));
    TRY_VOID(make_folders(work_));
    stale_ = names_in(work_);
    for (const std::string& name : stale_) {
        // Names of this run must not meet those of an earlier one.
        std::uint64_t number = 0;
        std::from_chars(name.data(), name.data() + name.size(), number);
        next_ = std::max(next_, number + 1);
    }
    return {};
}

std::string LayerStore::scratch(const std::string& what) { return work_ + "/" + std::to_string(next_++) + "-" + what; }

bool LayerStore::exists(const std::string& key) const { return path_exists(folder(key)) || is_base(key); }
bool LayerStore::is_base(const std::string& key) const { return path_exists(folder(key) + std::string(BaseSuffix)); }

std::string LayerStore::key_of(const std::string& below, const std::string& diff_id) const {
    return net::sha256_hex(options_.template_id + "\n" + options_.drive_path + "\n" + below + "\n" + diff_id).substr(0, KeySize);
}

LayerStore::Hold LayerStore::hold(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) ++(*holds_)[key];
    const auto let_go = [holds = holds_](const std::vector<std::string>* held) {
        for (const std::string& key : *held) {
            if (--(*holds)[key] == 0) holds->erase(key);
        }
        delete held;
    };
    return std::shared_ptr<const std::vector<std::string>>(new std::vector<std::string>(keys), let_go);
}

Task<LayerStore::Stack> LayerStore::ensure(std::vector<LayerPlan> layers, LayerSupply& supply) {
    Stack stack;
    std::vector<Hold> holds;
    std::string top;
    for (const LayerPlan& layer : layers) {
        if (layer.is_base) {
            stack.base_substituted = true;
            continue;
        }
        const std::string key = key_of(top, layer.diff_id);
        holds.push_back(hold({key}));
        CO_TRY_VOID(co_await ensure_layer(key, layer, stack.keys, supply));
        if (is_base(key)) {
            stack.base_substituted = true;
            continue;
        }
        top = key;
        stack.keys.insert(stack.keys.begin(), key);
    }
    stack.hold = hold(stack.keys);
    co_return stack;
}

/// Whoever comes first makes the layer. If that fails the next one tries, with its own credentials.
Task<> LayerStore::ensure_layer(std::string key, LayerPlan layer, std::vector<std::string> below, LayerSupply& supply) {
    while (!exists(key)) {
        if (const auto found = under_way_.find(key); found != under_way_.end()) {
            const Done done = found->second;
            auto shared = co_await done->wait();
            if (!shared && !done->is_set()) co_return shared;  // we were cancelled ourselves
            continue;
        }
        const Done done = std::make_shared<Promise<void>>();
        under_way_[key] = done;
        auto made = co_await make_layer(key, layer, below, supply);
        under_way_.erase(key);
        done->set({});
        if (!made) co_return std::move(made).error().with_context("layer " + layer.diff_id);
    }
    co_return {};
}

Task<> LayerStore::make_layer(std::string key, LayerPlan layer, std::vector<std::string> below, LayerSupply& supply) {
    const std::string packed = scratch("blob"), folder = scratch("layer");
    auto blob = co_await supply.fetch(layer, packed);
    Result<void> made = {};
    if (blob) {
        made = co_await run_blocking<void>(pool_, [&] { return unpack(*blob, layer, below, folder, key); });
    } else {
        made = std::move(blob).error();
    }
    const auto cleaned = co_await run_blocking<void>(pool_, [&]() -> Result<void> {
        ::unlink(packed.c_str());
        return remove_tree(folder);
    });
    if (!cleaned) log_.warn("cannot clean up", {{"error", cleaned.error().message}});
    co_return made;
}

Result<void> LayerStore::unpack(const BlobPlace& blob, const LayerPlan& layer, const std::vector<std::string>& below,
                                const std::string& folder, const std::string& key) {
    TRY_VOID(make_folders(folder));
    TRY(auto file, open_file_source(blob.path, blob.offset, blob.size));
    auto packed = std::make_unique<HashingSource>(std::move(file));
    HashingSource& packed_hash = *packed;
    HashingSource tar(make_unpacking_source(std::move(packed)));
    LayerJob job{.folder = folder,
                 .drive_path = options_.drive_path,
                 .template_lowers = options_.template_lowers,
                 .is_whole_image = layer.is_whole_image};
    for (const std::string& lower : below) job.lowers.push_back(this->folder(lower));
    TRY(const LayerOutcome outcome, unpack_layer(tar, job));
    if (outcome.is_base) return write_file_atomically(this->folder(key) + std::string(BaseSuffix), "");
    TRY(const std::string diff_id, tar.finish());
    if (diff_id != layer.diff_id) return Error(Reason::Invalid, "its content is " + diff_id);
    TRY(const std::string digest, packed_hash.finish());
    if (!layer.blob.digest.empty() && digest != layer.blob.digest) return Error(Reason::Invalid, "its packed content is " + digest);
    TRY_VOID(sync_file_system(folder));
    if (::rename(folder.c_str(), this->folder(key).c_str()) != 0) return io_error("keeping", folder);
    return {};
}

Task<> LayerStore::collect(std::set<std::string> wanted) {
    std::vector<std::string> garbage;
    // Out of the way first: what stands under a key is complete.
    for (const std::string& name : stale_) garbage.push_back(work_ + "/" + name);
    for (const std::string& name : names_in(layers_)) {
        const std::string key = name.substr(0, KeySize);
        if (name.ends_with(BaseSuffix)) continue;  // saves fetching that layer again
        if (wanted.contains(key) || holds_->contains(key) || under_way_.contains(key)) continue;
        garbage.push_back(scratch("removed"));
        if (::rename(folder(name).c_str(), garbage.back().c_str()) != 0) co_return io_error("removing", folder(name));
        sizes_.erase(key);
    }
    stale_.clear();
    if (garbage.empty()) co_return {};
    co_return co_await run_blocking<void>(pool_, [&garbage]() -> Result<void> {
        for (const std::string& path : garbage) TRY_VOID(remove_tree(path));
        return {};
    });
}

Task<TreeUsage> LayerStore::usage() {
    std::vector<std::string> unknown;
    for (const std::string& name : names_in(layers_)) {
        if (!sizes_.contains(name)) unknown.push_back(name);
    }
    CO_TRY(const auto measured, co_await run_blocking<std::vector<TreeUsage>>(pool_, [&]() -> Result<std::vector<TreeUsage>> {
               std::vector<TreeUsage> all;
               for (const std::string& name : unknown) all.push_back(measure_tree(folder(name)));
               return all;
           }));
    for (std::size_t i = 0; i < unknown.size(); ++i) sizes_[unknown[i]] = measured[i];
    TreeUsage total;
    for (const auto& [name, size] : sizes_) {
        total.bytes += size.bytes;
        total.inodes += size.inodes;
    }
    co_return total;
}

}  // namespace porthole::winhost
