// SPDX-License-Identifier: GPL-2.0
/*
 * blocks: a cascading wheel whose slots are chains of packed arrays. Exact over
 * the whole range of 64-bit ticks.
 *
 * Scheme 7 of Varghese & Lauck (SOSP 1987), placed by digits as cascading is;
 * the slots are those of the library `cog`, which keeps a slot's timers in
 * blocks of a fixed number of entries and had no cancel: that is added here.
 *
 *	a slot		block		block		block
 *	  head ------->[a b c d e f]-->[g - h i - j]-->[k l m      ]<--- tail
 *				       | cancelled |		^ appended here
 *	an entry is	tick . row	      |
 *					      v
 *	the row table	row	1	2	3	...
 *			timer	T	U	V		while it is live
 *			place	&g	&h	&k
 *
 * An entry holds the low half of the tick for which its timer is wanted, and
 * the number of the timer's row. The row knows the timer and where its entry
 * is; the timer knows the number of its row. So to move a timer down is to copy
 * 8 bytes and to write its row: no timer is touched, wherever it lies in
 * memory. (A timer on a level above the reach of half a tick is, for its whole
 * due tick: that is 2^36 ticks away.) What is touched comes in rows of
 * neighbours, or is prefetched: unlike the steps along a list, its cache misses
 * overlap.
 *
 * To cancel a timer is to follow its row and to clear the entry's row number.
 * A dead entry points at nothing, and the row may serve another timer from then
 * on. That is why there are no generations: they would have to tell the entry of
 * an old use of a row from that of a new one, and could wrap.
 *
 * Timer, row and entry are three cache misses, each of which leads to the next
 * one. So a cancelled timer is only noted by its row, which is fetched; when
 * there are a few, their entries are fetched all at once and then cleared.
 * Whoever looks at entries meanwhile has that done first. Of the timer, nothing
 * is needed any more.
 *
 * Dead entries at either end of a block are dropped, and a block without live
 * ones is freed. In between, wherever five neighbours would fit into four, they
 * are packed, in order: so dead entries, and others that are out of use, are at
 * most a third of the live ones, plus a constant for each slot in use (see
 * blocks_bound()). The last block of a chain, which is being filled, takes no
 * part in that.
 *
 * START_TIMER		O(1): one find-last-bit gives the level, then an append
 * STOP_TIMER		O(1): two steps to the entry, taken for 16 at once; now
 *			and then up to five blocks are packed, four entries
 *			moved for each cancel
 * PER_TICK_BOOKKEEPING	nothing for an empty tick; else what expires, and what
 *			cascades: a timer moves at most levels - 1 times
 * EXPIRY_PROCESSING	O(1) a timer
 *
 * Choose it where timers are many, lie scattered in memory, and do expire: that
 * is where a list costs a cache miss for each step. Where timers are few, or
 * most are cancelled soon, cascading does the same with less. Its memory is
 * reserved when timers are set up: a timer is one of the smallest, and the
 * wheel adds less than 28 bytes to each.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/numa.h>
#include <linux/prefetch.h>

#include "digits.h"
#include "kinds.h"
#include "rows.h"
#include "walk.h"

/* A block is a chunk of the pool. Tests shrink it, the benchmark varies it. */
#ifndef BLOCK_BYTES
#define BLOCK_BYTES	512
#endif

/*
 * Whether an empty slot keeps a block, and how many empty blocks a wheel keeps
 * for whichever slot needs one next. Documentation/blocks.rst says why.
 */
#ifndef BLOCK_PER_SLOT
#define BLOCK_PER_SLOT	0
#endif
#ifndef BLOCK_SPARES
#define BLOCK_SPARES	4
#endif

/* So many neighbours are packed into one less. */
#define PACK_WINDOW	5

/* After so many deaths in a block, see whether that can be done. */
#define PACK_EVERY	4

/* How many entries ahead rows are fetched into the cache. */
#define ROWS_AHEAD	8

struct block_entry {
	u32 key;	/* low half of the tick that it is wanted for */
	u32 row;	/* ROWS_NONE: dead */
};

/**
 * struct block - some entries of a slot
 * @next: the one after it, NULL in the last
 * @prev: the one before it, NULL in the first
 * @slot: whose
 * @begin: entries before it are no more
 * @end: entries from here on are not yet; those at either end are live, if
 *	any is
 * @live: entries with a timer
 * @entry: the entries
 */
struct block {
	struct block *next;
	struct block *prev;
	u16 slot;
	u16 begin;
	u16 end;
	u16 live;
	struct block_entry entry[];
};

#define BLOCK_ENTRIES \
	((BLOCK_BYTES - sizeof(struct block)) / sizeof(struct block_entry))

static_assert(!(BLOCK_BYTES & (BLOCK_BYTES - 1)));
/* Else a window that is nearly worth packing could have no live entry. */
static_assert((PACK_WINDOW - 1) * BLOCK_ENTRIES >
	      PACK_WINDOW * (PACK_EVERY - 1));

/**
 * struct chain - the blocks of a slot
 * @head: the first; NULL if there is none
 * @tail: the last, to which entries are added
 */
struct chain {
	struct block *head;
	struct block *tail;
};

#define BLOCKS_SLOTS	(LEVELS_MAX * LEVEL_SLOTS + 1)

/**
 * struct blocks - a wheel
 * @wheel: what every wheel begins with
 * @digits: which slots have live entries
 * @pool: where blocks come from
 * @rows: the table of rows
 * @cache: spare rows
 * @nr_leaving: cancelled timers whose entries are still there
 * @leaving: their rows
 * @spare: empty blocks
 * @nr_spare: how many
 * @slot: the slots, level after level, and the shelf
 *
 * wheel_node.priv is the number of the node's row.
 */
struct blocks {
	struct wheel wheel;
	struct digits digits;
	struct wheel_pool *pool;
	struct wheel_rows *rows;
	struct rows_cache cache;
	u32 nr_leaving;
	u32 leaving[ROWS_LEAVING];
	struct block *spare;
	u32 nr_spare;
	struct chain slot[BLOCKS_SLOTS];
};

static inline struct blocks *to_blocks(const struct wheel *w)
{
	return container_of(w, struct blocks, wheel);
}

static inline struct block *block_of(const struct block_entry *entry)
{
	return (void *)((unsigned long)entry & ~(BLOCK_BYTES - 1UL));
}

/* Blocks. */

static struct block *block_get(struct blocks *b)
{
	struct block *block = b->spare;

	if (!block)
		return b->pool->get(b->pool);
	b->spare = block->next;
	b->nr_spare--;
	return block;
}

static void block_put(struct blocks *b, struct block *block)
{
	if (b->nr_spare == BLOCK_SPARES) {
		b->pool->put(b->pool, block);
		return;
	}
	block->next = b->spare;
	b->spare = block;
	b->nr_spare++;
}

static inline unsigned int block_room(const struct block *block)
{
	return BLOCK_ENTRIES - block->live;
}

/* Take a block out of a chain of several. */
static void block_unlink(struct blocks *b, struct block *block)
{
	struct chain *chain = &b->slot[block->slot];

	if (block->prev)
		block->prev->next = block->next;
	else
		chain->head = block->next;
	if (block->next)
		block->next->prev = block->prev;
	else
		chain->tail = block->prev;
	block_put(b, block);
}

/*
 * Pack the live entries of so many blocks, beginning with @start, to the front
 * and free those that are left over. Returns the last one that is not.
 */
static struct block *blocks_pack(struct blocks *b, struct block *start,
				 unsigned int nr)
{
	struct block *to = start, *from = start, *next;
	unsigned int begin, end, filled = 0;

	for (; nr; nr--, from = next) {
		next = from->next;
		begin = from->begin;
		end = from->end;
		for (; begin < end; begin++) {
			struct block_entry entry = from->entry[begin];

			if (entry.row == ROWS_NONE)
				continue;
			if (filled == BLOCK_ENTRIES) {
				to->begin = 0;
				to->end = filled;
				to->live = filled;
				to = to->next;
				filled = 0;
			}
			to->entry[filled] = entry;
			wheel_row(b->rows, entry.row)->place =
				&to->entry[filled++];
		}
	}
	to->begin = 0;
	to->end = filled;
	to->live = filled;
	while (to->next != next)
		block_unlink(b, to->next);
	return to;
}

/*
 * A block that is not the last of its chain has become emptier, or is not the
 * last any more: pack wherever that frees a block. Each time it does, as many
 * places as a block has are no longer out of use, and each of them has cost a
 * cancel: so at most PACK_WINDOW - 1 entries are moved for each.
 */
static noinline void blocks_compact(struct blocks *b, struct block *block)
{
	const struct block *tail = b->slot[block->slot].tail;
	unsigned int room, nr, before;
	struct block *start, *last;

again:
	start = block;
	room = block_room(block);
	for (nr = 1; nr < PACK_WINDOW && start->prev; nr++) {
		start = start->prev;
		room += block_room(start);
	}
	/* Move the window on while it contains the block. */
	last = block;
	before = nr - 1;
	while (room < BLOCK_ENTRIES) {
		last = last->next;
		if (last == tail)
			return;
		room += block_room(last);
		if (nr < PACK_WINDOW) {
			nr++;
			continue;
		}
		if (!before--)
			return;
		room -= block_room(start);
		start = start->next;
	}
	block = blocks_pack(b, start, nr);
	goto again;
}

/* A new last block. NULL where there is no memory. */
static noinline struct block *block_add(struct blocks *b, unsigned int index)
{
	struct chain *chain = &b->slot[index];
	struct block *tail = chain->tail;
	struct block *block = block_get(b);

	if (WARN_ON_ONCE(!block))
		return NULL;
	block->slot = index;
	block->begin = 0;
	block->end = 0;
	block->live = 0;
	block->next = NULL;
	block->prev = tail;
	chain->tail = block;
	if (!tail) {
		chain->head = block;
		return block;
	}
	tail->next = block;
	if (tail->live < BLOCK_ENTRIES)
		blocks_compact(b, tail);
	return block;
}

/* The last live entry of a block is gone. */
static noinline void block_emptied(struct blocks *b, struct block *block)
{
	struct chain *chain = &b->slot[block->slot];

	if (chain->head != chain->tail) {
		block_unlink(b, block);
		return;
	}
	digits_clear(&b->digits, block->slot);
	if (BLOCK_PER_SLOT) {
		block->begin = 0;
		block->end = 0;
	} else {
		chain->head = NULL;
		chain->tail = NULL;
		block_put(b, block);
	}
}

/* Entries. */

/* Is there room for one more, without a new block? */
static inline bool block_open(const struct block *block)
{
	return block && block->end < BLOCK_ENTRIES;
}

/* Add an entry to the last block of a slot, which has room. */
static __always_inline void
block_append(struct blocks *b, struct block *block, unsigned int level,
	     unsigned int index, u64 key, u32 nr, struct wheel_row *row)
{
	struct block_entry *entry = &block->entry[block->end++];

	entry->key = (u32)key;
	entry->row = nr;
	row->place = entry;
	/* Where others wait, the bits are set. */
	if (!block->live++)
		digits_set(&b->digits, level, index);
}

/* Add an entry to a slot. False where there is no memory. */
static __always_inline bool
blocks_append(struct blocks *b, unsigned int level, unsigned int index,
	      u64 key, u32 nr, struct wheel_row *row)
{
	struct block *block = b->slot[index].tail;

	if (unlikely(!block_open(block))) {
		block = block_add(b, index);
		if (unlikely(!block))
			return false;
	}
	block_append(b, block, level, index, key, nr, row);
	return true;
}

/* The same by a key that is later than @now; @first is its slot's first key. */
static __always_inline bool blocks_add(struct blocks *b, u64 now, u64 key,
				       u32 nr, struct wheel_row *row,
				       u64 *first)
{
	unsigned int level = digits_level(now, key);
	unsigned int shift = level * WHEEL_LEVEL_BITS;
	u64 digits = key >> shift;

	*first = digits << shift;
	return blocks_append(b, level,
			     level * LEVEL_SLOTS + (digits & LEVEL_MASK), key,
			     nr, row);
}

/* Take an entry out of its block. */
static void blocks_remove(struct blocks *b, struct block_entry *entry)
{
	struct block *block = block_of(entry);

	if (!--block->live) {
		block_emptied(b, block);
		return;
	}
	if (entry == &block->entry[block->end - 1]) {
		while (block->entry[--block->end - 1].row == ROWS_NONE)
			;
	} else if (entry == &block->entry[block->begin]) {
		while (block->entry[++block->begin].row == ROWS_NONE)
			;
	} else {
		entry->row = ROWS_NONE;
	}
	if (block->next && !(block_room(block) % PACK_EVERY))
		blocks_compact(b, block);
}

/*
 * Take out the entries of timers that were cancelled. Their rows were fetched
 * meanwhile; now the entries and the blocks are, of all at once.
 */
static noinline void blocks_leave(struct blocks *b)
{
	struct wheel_row *row[ROWS_LEAVING];
	unsigned int i, nr = b->nr_leaving;

	for (i = 0; i < nr; i++) {
		row[i] = wheel_row(b->rows, b->leaving[i]);
		prefetchw(row[i]->place);
		prefetchw(block_of(row[i]->place));
	}
	/* What is packed meanwhile may move those that are still to come. */
	for (i = 0; i < nr; i++)
		blocks_remove(b, row[i]->place);
	rows_cache_put_all(&b->cache, b->rows, b->leaving, nr);
	b->nr_leaving = 0;
}

/*
 * For whoever looks at entries, or at what is in use: next and walk, too, which
 * change nothing that anybody else can see.
 */
static inline void blocks_settle(struct blocks *b)
{
	if (b->nr_leaving)
		blocks_leave(b);
}

static u64 blocks_refuse(struct blocks *b)
{
	b->wheel.refused = true;
	return WHEEL_NEVER;
}

/* The same, where a row, a block or a shelf must be found first. */
static noinline u64 blocks_enqueue_slowly(struct blocks *b,
					  struct wheel_node *node)
{
	u64 now = b->wheel.now, first = WHEEL_NEVER;
	struct wheel_row *row;
	bool ok;
	u32 nr;

	nr = rows_cache_get(&b->cache, b->rows);
	if (unlikely(nr == ROWS_NONE)) {
		/* Only some cancelled timer may still have one. */
		blocks_settle(b);
		nr = rows_cache_get(&b->cache, b->rows);
	}
	if (unlikely(nr == ROWS_NONE))
		return blocks_refuse(b);
	row = wheel_row(b->rows, nr);
	if (likely(now != U64_MAX))
		ok = blocks_add(b, now, wheel_fire_tick(now, node->expires),
				nr, row, &first);
	else
		ok = blocks_append(b, LEVELS_MAX, BLOCKS_SLOTS - 1, 0, nr, row);
	if (unlikely(!ok)) {
		rows_cache_put(&b->cache, b->rows, nr);
		return blocks_refuse(b);
	}
	row->node = node;
	node->priv = nr;
	return first;
}

/* Whatever needs a call is left to others: no register must be saved here. */
u64 blocks_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct blocks *b = to_blocks(w);
	u64 key = wheel_fire_tick(w->now, node->expires);
	unsigned int level = digits_level(w->now, key);
	unsigned int shift = level * WHEEL_LEVEL_BITS;
	u64 digits = key >> shift;
	unsigned int index = level * LEVEL_SLOTS + (digits & LEVEL_MASK);
	struct block *block = b->slot[index].tail;
	struct wheel_row *row;
	u32 nr;

	/* Where the clock has ended, the key is 0, and so is nothing else. */
	if (unlikely(!key || !b->cache.nr || !block_open(block)))
		return blocks_enqueue_slowly(b, node);
	nr = b->cache.row[--b->cache.nr];
	row = wheel_row(b->rows, nr);
	block_append(b, block, level, index, key, nr, row);
	row->node = node;
	node->priv = nr;
	return digits << shift;
}

void blocks_dequeue(struct wheel *w, struct wheel_node *node)
{
	struct blocks *b = to_blocks(w);

	prefetchw(wheel_row(b->rows, node->priv));
	b->leaving[b->nr_leaving++] = node->priv;
	if (b->nr_leaving == ROWS_LEAVING)
		blocks_leave(b);
}

u64 blocks_next(const struct wheel *w)
{
	struct blocks *b = to_blocks(w);

	blocks_settle(b);
	return digits_next(&b->digits, w->now);
}

void blocks_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

/* Time. */

static __always_inline void row_prefetch(const struct blocks *b,
					 const struct block *block,
					 unsigned int i)
{
	if (i < block->end)
		prefetchw(wheel_row(b->rows, block->entry[i].row));
}

/* Are there live entries in a slot? */
static inline bool chain_in_use(const struct chain *chain)
{
	return chain->head && chain->head->live;
}

/*
 * The key of an entry in a slot which begins at @first. An overdue timer was
 * placed for the tick after the clock: where it comes down, that is @first. One
 * that was moved lazily may want more than the slot's span: it then goes to
 * another slot of this level or of a higher one.
 */
static inline u64 entry_key(const struct block_entry *entry,
			    const struct wheel_row *row, u64 first,
			    unsigned int shift)
{
	if (likely(shift <= 32))
		return first | (entry->key & (BIT_ULL(shift) - 1));
	return max(READ_ONCE(row->node->expires), first);
}

/* Move a slot down, or as much of it as the budget allows: see levels.h. */
static inline bool blocks_cascade(struct wheel *w, unsigned int level,
				  u64 first, struct wheel_batch *batch)
{
	struct blocks *b = to_blocks(w);
	unsigned int shift = level * WHEEL_LEVEL_BITS;
	unsigned int index = level * LEVEL_SLOTS +
			     (first >> shift & LEVEL_MASK);
	struct chain *chain = &b->slot[index];

	b->digits.partial = level;
	while (chain_in_use(chain)) {
		struct block *block = chain->head;
		unsigned int i;

		for (i = block->begin; i < block->end; i++) {
			struct block_entry *entry = &block->entry[i];
			struct wheel_row *row;
			u64 key, to;
			bool ok;

			if (entry->row == ROWS_NONE)
				continue;
			block->begin = i;
			if (batch->looked == batch->budget)
				return false;
			row_prefetch(b, block, i + ROWS_AHEAD);
			row = wheel_row(b->rows, entry->row);
			key = entry_key(entry, row, first, shift);
			if (key == first)
				ok = blocks_append(b, 0, first & LEVEL_MASK,
						   key, entry->row, row);
			else
				ok = blocks_add(b, first, key, entry->row, row,
						&to);
			if (unlikely(!ok))
				return false;
			batch->looked++;
			w->moved++;
			block->live--;
		}
		block_emptied(b, block);
	}
	b->digits.partial = 0;
	w->touched++;
	return true;
}

/* Hand over so many live entries, from *@at on; their rows are spare again. */
static __always_inline void blocks_fire(struct blocks *b,
					struct block_entry **at,
					const struct block_entry *end,
					struct wheel_node **node,
					unsigned int nr)
{
	struct wheel_row **page = READ_ONCE(b->rows->page);
	struct block_entry *entry = *at;
	u32 row[WHEEL_BATCH];
	unsigned int i;

	for (i = 0; i < nr; entry++) {
		row[i] = entry->row;
		if (unlikely(entry->row == ROWS_NONE))
			continue;
		if (likely(entry + ROWS_AHEAD < end))
			prefetchw(row_on(page, entry[ROWS_AHEAD].row));
		node[i] = row_on(page, entry->row)->node;
		/* Whoever gets the batch will need it. */
		prefetchw(node[i++]);
	}
	*at = entry;
	rows_cache_put_all(&b->cache, b->rows, row, nr);
}

/* Hand over the slot of the tick that the clock shows, or a part of it. */
static inline void blocks_expire(struct wheel *w, struct wheel_batch *batch)
{
	struct blocks *b = to_blocks(w);
	struct chain *chain = &b->slot[w->now & LEVEL_MASK];
	unsigned int left = batch->budget - batch->looked;

	while (left && chain_in_use(chain)) {
		struct block *block = chain->head;
		struct block_entry *entry = &block->entry[block->begin];
		unsigned int nr = min_t(unsigned int, block->live, left);

		blocks_fire(b, &entry, &block->entry[block->end],
			    &batch->node[batch->nr], nr);
		batch->nr += nr;
		batch->looked += nr;
		left -= nr;
		block->live -= nr;
		if (block->live) {
			while (entry->row == ROWS_NONE)
				entry++;
			block->begin = entry - block->entry;
			return;
		}
		block_emptied(b, block);
	}
	if (!chain_in_use(chain))
		w->touched++;
}

static noinline bool blocks_pass(struct wheel *w, u64 to,
				 struct wheel_batch *batch)
{
	struct blocks *b = to_blocks(w);

	blocks_settle(b);
	return digits_pass(&b->digits, w, to, batch, blocks_expire,
			   blocks_cascade);
}

bool blocks_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	return digits_quiet(&to_blocks(w)->digits, w, to) ||
	       blocks_pass(w, to, batch);
}

/* Setting up, and looking at it. */

static size_t blocks_size(const struct wheel_config *cfg)
{
	return sizeof(struct blocks);
}

static int blocks_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct blocks *b = to_blocks(w);

	b->digits.nr = LEVELS_MAX;
	b->pool = cfg->pool;
	b->rows = cfg->pool->rows;
	return 0;
}

static void blocks_destroy(struct wheel *w)
{
	struct blocks *b = to_blocks(w);
	unsigned int i;

	blocks_settle(b);
	rows_cache_empty(&b->cache, b->rows);
	for (i = 0; i < BLOCKS_SLOTS; i++)
		if (b->slot[i].head)
			b->pool->put(b->pool, b->slot[i].head);
	while (b->nr_spare)
		b->pool->put(b->pool, block_get(b));
}

/*
 * The most blocks that @live entries can be in, on so many wheels.
 *
 * Five neighbours of a chain, the last one left out, have less than one block's
 * worth of entries out of use when they were last looked at, and since then
 * less than PACK_EVERY more in each. What is left over where a chain is not a
 * multiple of five long, makes up for at most one block more, and the last one
 * is another: two for each slot in use. But no block is without a live entry,
 * except one from which entries are just being taken, one that was just added,
 * and the spare ones.
 */
static size_t blocks_bound(size_t live, unsigned int wheels)
{
	size_t packed = (PACK_WINDOW - 1) * BLOCK_ENTRIES -
			PACK_WINDOW * (PACK_EVERY - 1);
	size_t slots = (size_t)wheels * BLOCKS_SLOTS;
	size_t blocks = DIV_ROUND_UP(live, packed) * PACK_WINDOW +
			2 * min(live, slots);

	blocks = min(blocks, live) + wheels * (BLOCK_SPARES + 2);
	return BLOCK_PER_SLOT ? blocks + slots : blocks;
}

static size_t blocks_chunks(const struct wheel_config *cfg, size_t nr,
			    unsigned int wheels, size_t *chunk_size)
{
	*chunk_size = BLOCK_BYTES;
	/* Not more timers can be armed than there are rows. */
	return blocks_bound(wheel_rows_for(nr, wheels), wheels);
}

static struct wheel_node *blocks_first(struct wheel *w)
{
	struct blocks *b = to_blocks(w);
	struct block *block;

	blocks_settle(b);
	if (!b->digits.used)
		return NULL;
	block = b->slot[digits_first(&b->digits)].head;
	return wheel_row(b->rows, block->entry[block->begin].row)->node;
}

static u64 blocks_fires(const struct wheel *w, const struct wheel_node *node)
{
	struct blocks *b = to_blocks(w);
	const struct block *block =
		block_of(wheel_row(b->rows, node->priv)->place);

	/* It may belong to the slot that is just being fired. */
	if (block->slot == (w->now & LEVEL_MASK) &&
	    digits_wait(&b->digits, w->now))
		return w->now;
	return wheel_fire_tick(w->now, node->expires);
}

static inline void blocks_show(const struct wheel *w, struct walk *walk,
			       u64 index)
{
	const struct blocks *b = to_blocks(w);
	u32 level = index / LEVEL_SLOTS;
	u32 slot = index & LEVEL_MASK;
	u64 tick = digits_slot_key(&b->digits, w->now, index);
	const struct block *block;
	unsigned int i;

	if (level == LEVELS_MAX)
		level = WHEEL_NO_LEVEL;
	if (!chain_in_use(&b->slot[index]))
		return;
	for (block = b->slot[index].head; block; block = block->next) {
		for (i = block->begin; i < block->end; i++) {
			u32 nr = block->entry[i].row;

			if (nr != ROWS_NONE &&
			    !walk_add(walk, wheel_row(b->rows, nr)->node, tick,
				      level, slot))
				return;
		}
	}
}

static unsigned int blocks_walk(const struct wheel *w, struct wheel_walk *pos,
				struct wheel_item *items, unsigned int max)
{
	blocks_settle(to_blocks(w));
	return walk_slots(w, pos, items, max, BLOCKS_SLOTS, walk_every,
			  blocks_show);
}

static void blocks_geometry(const struct wheel *w, struct wheel_geometry *g)
{
	g->levels = LEVELS_MAX;
	g->slots = LEVEL_SLOTS;
	g->width = 1;
	g->shift = WHEEL_LEVEL_BITS;
}

const struct wheel_ops blocks_ops = {
	.name = "blocks",
	.brief = "cascading, with slots of packed blocks; moves touch no timer",
	.source = "Varghese & Lauck 1987, Scheme 7; the library cog",
	.traits = WHEEL_EXACT | WHEEL_POOLED | WHEEL_LAZY,
	.node_size = wheel_node_size(priv),
	.enqueue = blocks_enqueue,
	.dequeue = blocks_dequeue,
	.next = blocks_next,
	.advance = blocks_advance,
	.forward = blocks_forward,
	.size = blocks_size,
	.init = blocks_init,
	.destroy = blocks_destroy,
	.first = blocks_first,
	.fires = blocks_fires,
	.walk = blocks_walk,
	.geometry = blocks_geometry,
	.chunks = blocks_chunks,
};
