#include "winhost/images/image_store.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "runtime/files/file_lock.h"
#include "winhost/images/archive_source.h"
#include "winhost/images/content/byte_source.h"
#include "winhost/images/content/files.h"
#include "winhost/images/content/reference.h"
#include "winhost/images/image_records.h"
#include "winhost/images/layers/layer_store.h"
#include "winhost/images/registry/registry_session.h"

namespace porthole::winhost {
namespace {

constexpr std::size_t ShortestId = 7;

void add_sorted(std::vector<std::string>& names, const std::string& name) {
    const auto place = std::ranges::lower_bound(names, name);
    if (place == names.end() || *place != name) names.insert(place, name);
}

bool remove_name(std::vector<std::string>& names, const std::string& name) { return std::erase(names, name) > 0; }

class DiskImageStore final : public ImageStore {
public:
    DiskImageStore(Options options, EventLoop& loop, WorkerPool& pool, RegistryClient& registries, Logger log)
        : options_(std::move(options)),
          loop_(loop),
          pool_(pool),
          registries_(registries),
          log_(log),
          host_{.version = options_.host, .architecture = options_.architecture},
          layers_({.root = options_.root,
                   .drive_path = options_.drive_path,
                   .template_id = options_.template_id,
                   .template_lowers = options_.template_lowers},
                  pool, log) {}

    Result<void> open() {
        TRY_VOID(make_folders(options_.root));
        TRY(lock_, FileLock::try_take(options_.root + "/lock"));
        if (!lock_) return Error(Reason::Conflict, options_.root + " is in use by another store");
        for (const std::string& name : options_.pinned) {
            TRY(const Reference reference, Reference::parse(name));
            pinned_.push_back(reference.tag_text());
        }
        TRY_VOID(layers_.open());
        return load();
    }

    Task<Image> pull(std::string text, Credentials credentials) override {
        CO_TRY(const Reference reference, Reference::parse(text));
        RegistrySource source(registries_, loop_, reference, std::move(credentials));
        auto plan = co_await source.plan(host_);
        if (!plan) co_return std::move(plan).error().with_context("failed to pull image \"" + text + "\"");
        auto image = co_await install(std::move(*plan), source);
        if (!image) co_return std::move(image).error().with_context("failed to pull image \"" + text + "\"");
        co_return std::move(image);
    }

    Task<std::vector<Image>> import_archive(std::string path) override {
        std::unique_ptr<ArchiveSource> source;
        auto plans = co_await run_blocking<std::vector<ImagePlan>>(
            pool_, [&, scratch = layers_.scratch("archive")] { return plans_of(path, scratch, source); });
        if (!plans) co_return std::move(plans).error().with_context("failed to import " + path);
        std::vector<Image> images;
        for (ImagePlan& plan : *plans) {
            auto image = co_await install(std::move(plan), *source);
            if (!image) co_return std::move(image).error().with_context("failed to import " + path);
            images.push_back(std::move(*image));
        }
        co_return images;
    }

    const Image* find(const std::string& text) const override {
        const auto reference = Reference::parse(text);
        for (const auto& [id, image] : images_) {
            if (id == text) return &image;
            if (reference && !reference->digest.empty() && contains(image.repo_digests, reference->digest_text(reference->digest)))
                return &image;
            if (reference && reference->digest.empty() && contains(image.repo_tags, reference->tag_text())) return &image;
        }
        return find_by_short_id(text);
    }

    std::vector<Image> list() const override {
        std::vector<Image> all;
        for (const auto& [id, image] : images_) all.push_back(image);
        return all;
    }

    Task<> remove(std::string reference) override {
        const Image* image = find(reference);
        if (!image) co_return {};
        const std::string id = image->id;
        auto without = records_;
        std::erase_if(without.images, [&](const ImageRecord& record) { return record.id == id; });
        CO_TRY_VOID(replace(std::move(without)));
        log_.info("image removed", {{"image", id}});
        co_return co_await collect_garbage();
    }

    Hold hold(const std::vector<std::string>& lower_folders) override {
        std::vector<std::string> keys;
        for (const std::string& folder : lower_folders) keys.push_back(std::filesystem::path(folder).filename());
        return layers_.hold(keys);
    }

    Task<> collect_garbage() override {
        std::set<std::string> wanted;
        for (const ImageRecord& record : records_.images) wanted.insert(record.layers.begin(), record.layers.end());
        co_return co_await layers_.collect(std::move(wanted));
    }

    Task<Usage> usage() override {
        CO_TRY(const TreeUsage total, co_await layers_.usage());
        co_return Usage{.mountpoint = options_.root, .bytes = total.bytes, .inodes = total.inodes};
    }

private:
    static bool contains(const std::vector<std::string>& names, const std::string& name) {
        return std::ranges::find(names, name) != names.end();
    }

    Result<std::vector<ImagePlan>> plans_of(const std::string& path, const std::string& scratch,
                                            std::unique_ptr<ArchiveSource>& source) const {
        TRY(source, ArchiveSource::open(path, scratch));
        return source->plans(host_);
    }

    const Image* find_by_short_id(std::string text) const {
        if (text.starts_with("sha256:")) text.erase(0, 7);
        if (text.size() < ShortestId) return nullptr;
        const Image* found = nullptr;
        for (const auto& [id, image] : images_) {
            if (id.compare(7, text.size(), text) != 0) continue;
            if (found) return nullptr;
            found = &image;
        }
        return found;
    }

    Task<Image> install(ImagePlan plan, LayerSupply& supply) {
        CO_TRY(const auto stack, co_await layers_.ensure(plan.layers, supply));
        ImageRecord record{.id = plan.id,
                           .config_text = std::move(plan.config_text),
                           .size = plan.size,
                           .base_substituted = stack.base_substituted,
                           .layers = stack.keys};
        CO_TRY_VOID(replace(with(std::move(record), plan.tags, plan.digests)));
        const Image& image = images_.at(plan.id);
        log_.info("image stored", {{"image", plan.id}, {"name", plan.tags.empty() ? "" : plan.tags.front()}});
        co_return image;
    }

    /// The records with one more, or with more names for one that was there. Tags move to it from whoever had them.
    ImageRecords with(ImageRecord record, const std::vector<std::string>& tags, const std::vector<std::string>& digests) const {
        ImageRecords next = records_;
        for (ImageRecord& other : next.images) {
            for (const std::string& tag : tags) remove_name(other.tags, tag);
        }
        auto place = std::ranges::find(next.images, record.id, &ImageRecord::id);
        if (place == next.images.end()) {
            place = next.images.insert(next.images.end(), std::move(record));
        } else {
            place->layers = std::move(record.layers);
            place->base_substituted = record.base_substituted;
        }
        for (const std::string& tag : tags) add_sorted(place->tags, tag);
        for (const std::string& digest : digests) add_sorted(place->digests, digest);
        return next;
    }

    std::string records_path() const { return options_.root + "/images.json"; }

    Result<void> replace(ImageRecords next) {
        TRY_VOID(write_file_atomically(records_path(), next.to_text()));
        records_ = std::move(next);
        show();
        return {};
    }

    Result<void> load() {
        records_.template_id = options_.template_id;
        const FileDescriptor file(::open(records_path().c_str(), O_RDONLY | O_CLOEXEC));
        if (!file) return {};
        TRY(const auto source, open_file_source(records_path(), 0, std::filesystem::file_size(records_path())));
        TRY(const std::string text, read_all(*source, std::size_t{1} << 30));
        auto found = ImageRecords::parse(text);
        if (!found) {
            log_.warn("forgetting the images: their list cannot be read", {{"error", found.error().message}});
        } else if (found->template_id != options_.template_id) {
            log_.info("forgetting the images: they were laid out for another template", {{"template", found->template_id}});
        } else {
            records_ = std::move(*found);
            drop_incomplete();
        }
        show();
        return {};
    }

    /// Somebody may have deleted folders by hand.
    void drop_incomplete() {
        std::erase_if(records_.images, [&](const ImageRecord& record) {
            const bool complete = std::ranges::all_of(
                record.layers, [&](const std::string& key) { return std::filesystem::is_directory(layers_.folder(key)); });
            if (!complete) log_.warn("forgetting an image whose layers are gone", {{"image", record.id}});
            return !complete;
        });
    }

    /// Makes `images_` what `records_` says.
    void show() {
        images_.clear();
        for (const ImageRecord& record : records_.images) {
            const auto description = parse_image_config(record.config_text);
            if (!description) continue;
            Image image{.id = record.id,
                        .repo_tags = record.tags,
                        .repo_digests = record.digests,
                        .size = record.size,
                        .config = description->config,
                        .pinned = std::ranges::any_of(pinned_, [&](const std::string& name) { return contains(record.tags, name); }),
                        .base_substituted = record.base_substituted};
            for (const std::string& key : record.layers) image.lower_folders.push_back(layers_.folder(key));
            images_.emplace(record.id, std::move(image));
        }
    }

    Options options_;
    EventLoop& loop_;
    WorkerPool& pool_;
    RegistryClient& registries_;
    Logger log_;
    HostPlatform host_;
    std::optional<FileLock> lock_;
    LayerStore layers_;
    std::vector<std::string> pinned_;
    ImageRecords records_;
    std::map<std::string, Image> images_;  ///< by id
};

}  // namespace

Result<std::unique_ptr<ImageStore>> ImageStore::open(Options options, EventLoop& loop, WorkerPool& pool, RegistryClient& registries,
                                                     Logger log) {
    auto store = std::make_unique<DiskImageStore>(std::move(options), loop, pool, registries, std::move(log));
    TRY_VOID(store->open());
    return store;
}

}  // namespace porthole::winhost
