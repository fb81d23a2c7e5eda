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
 *	  head ------->[a b c d e f]<->[g - h i - j]<->[k l m      ]<--- tail
 *				       | dead |		    ^ appended here
 *	an entry points at its timer, and the timer at its entry
 *
 * What a list is slow at is timers that lie scattered in memory: each step along
 * it is a cache miss, which must end before the next one can begin. Here the
 * timers of a slot are known before any of them is touched, so they are fetched
 * many at a time, whether they are to be moved down or to be handed over.
 *
 * To cancel a timer is to clear its entry. Timer and entry are two cache misses,
 * of which the first leads to the second. So the entry of a cancelled timer is
 * only noted, and fetched; when there are a few, they are cleared, all at once.
 * Whoever looks at entries meanwhile has that done first. Of the timer, nothing
 * is needed any more: its memory may be gone by then.
 *
 * Dead entries at either end of a block are dropped, and a block without live
 * ones is freed. Where the live ones of two neighbours fit into one block, they
 * are put there, in order: so at most half of the entries are dead, plus a
 * constant for each slot in use (see blocks_bound()). The last block of a
 * chain, which is being filled, takes no part in that.
 *
 * START_TIMER		O(1): one find-last-bit gives the level, then an append
 * STOP_TIMER		O(1): clears an entry, 16 of them at once; now and then two
 *			blocks are put together, two entries moved for each
 *			cancel at most
 * PER_TICK_BOOKKEEPING	nothing for an empty tick; else what expires, and what
 *			cascades: a timer moves at most levels - 1 times
 * EXPIRY_PROCESSING	O(1) a timer
 *
 * Choose it where timers are many, or lie scattered in memory, and must fire on
 * their tick. With few timers, most of which are cancelled soon, cascading does
 * the same with less. Its memory is reserved when timers are set up, less than
 * 20 bytes for each.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/prefetch.h>

#include "digits.h"
#include "kinds.h"
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

/* So many cancelled timers may have their entries still. */
#define BLOCKS_LEAVING	16

/* How many entries ahead timers are fetched into the cache. */
#define NODES_AHEAD	12

/**
 * struct block - some entries of a slot
 * @next: the one after it, NULL in the last
 * @prev: the one before it, NULL in the first
 * @slot: whose
 * @begin: entries before it are no more
 * @end: entries from here on are not yet; those at either end are live, if
 *	any is
 * @live: entries with a timer
 * @leaving: some are just being cleared
 * @node: the entries; NULL is a dead one
 */
struct block {
	struct block *next;
	struct block *prev;
	u16 slot;
	u8 begin;
	u8 end;
	u8 live;
	bool leaving;
	struct wheel_node *node[];
};

#define BLOCK_NODES \
	((BLOCK_BYTES - sizeof(struct block)) / sizeof(struct wheel_node *))

static_assert(!(BLOCK_BYTES & (BLOCK_BYTES - 1)));
static_assert(BLOCK_NODES <= U8_MAX);

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
 * @last: where the last entry was appended; it may have gone since, and only
 *	another one that is appended can take its place
 * @nr_leaving: cancelled timers whose entries are still there
 * @leaving: those entries
 * @spare: empty blocks
 * @nr_spare: how many
 * @slot: the slots, level after level, and the shelf
 *
 * wheel_node.place is the node's entry.
 */
struct blocks {
	struct wheel wheel;
	struct digits digits;
	struct wheel_pool *pool;
	struct wheel_node **last;
	u32 nr_leaving;
	struct wheel_node **leaving[BLOCKS_LEAVING];
	struct block *spare;
	u32 nr_spare;
	struct chain slot[BLOCKS_SLOTS];
};

static inline struct blocks *to_blocks(const struct wheel *w)
{
	return container_of(w, struct blocks, wheel);
}

static inline struct block *block_of(struct wheel_node *const *place)
{
	return (void *)((unsigned long)place & ~(BLOCK_BYTES - 1UL));
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

/* Add a node to a block that has room. */
static __always_inline void block_append(struct block *block,
					 struct wheel_node *node)
{
	struct wheel_node **place = &block->node[block->end++];

	*place = node;
	node->place = place;
}

/* Append the live entries of a block to another one, or to its own front. */
static void block_move(struct block *to, const struct block *from)
{
	unsigned int begin = from->begin, end = from->end, i;

	for (i = begin; i < end; i++)
		prefetchw(from->node[i]);
	if (to == from)
		to->end = 0;
	for (i = begin; i < end; i++)
		if (from->node[i])
			block_append(to, from->node[i]);
}

/* Put the nodes of the next block into this one, which can take them. */
static void block_merge(struct blocks *b, struct block *block)
{
	struct block *next = block->next;

	if (BLOCK_NODES - block->end < next->live) {
		block_move(block, block);
		block->begin = 0;
	}
	block_move(block, next);
	block->live += next->live;
	block_unlink(b, next);
}

/* May two neighbours become one? Not the last of the chain. */
static inline bool may_merge(const struct block *a, const struct block *c)
{
	return c->next && !a->leaving && !c->leaving &&
	       a->live + c->live <= (int)BLOCK_NODES;
}

/*
 * A block has become emptier, has got a new neighbour, or is not the last of its
 * chain any more. To merge moves no more entries than a block has, and as many
 * in the two have died before: at most two are moved for each cancel.
 */
static void block_compact(struct blocks *b, struct block *block)
{
	for (;;) {
		if (block->prev && may_merge(block->prev, block))
			block = block->prev;
		else if (!block->next || !may_merge(block, block->next))
			return;
		block_merge(b, block);
	}
}

/* The last live entry of a block is gone. */
static void block_emptied(struct blocks *b, struct block *block)
{
	struct chain *chain = &b->slot[block->slot];
	struct block *prev = block->prev;

	if (chain->head != chain->tail) {
		block_unlink(b, block);
		if (prev && !prev->leaving)
			block_compact(b, prev);
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

/* Entries of a block have been cleared, some being live still. */
static inline void block_trim_end(struct block *block)
{
	while (!block->node[block->end - 1])
		block->end--;
}

static inline void block_trim(struct block *block)
{
	block_trim_end(block);
	while (!block->node[block->begin])
		block->begin++;
}

/*
 * Clear the entries of timers that were cancelled, which were fetched meanwhile.
 * Nothing is moved before all of them are: an entry that is moved is written to
 * its timer, and those timers may be gone.
 */
static noinline void blocks_leave(struct blocks *b)
{
	struct block *touched[BLOCKS_LEAVING];
	unsigned int i, nr = 0;

	for (i = 0; i < b->nr_leaving; i++) {
		struct block *block = block_of(b->leaving[i]);

		*b->leaving[i] = NULL;
		block->live--;
		if (!block->leaving)
			touched[nr++] = block;
		block->leaving = true;
	}
	b->nr_leaving = 0;
	/* None but the present one is freed: the others are leaving, or past. */
	for (i = 0; i < nr; i++) {
		touched[i]->leaving = false;
		if (!touched[i]->live) {
			block_emptied(b, touched[i]);
			continue;
		}
		block_trim(touched[i]);
		if (touched[i]->next)
			block_compact(b, touched[i]);
	}
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

/* Is there room for one more, without a new block? */
static inline bool block_open(const struct block *block)
{
	return block && block->end < BLOCK_NODES;
}

/* The last block of a slot, with room. NULL where there is no memory. */
static noinline struct block *blocks_open(struct blocks *b, unsigned int index)
{
	struct chain *chain = &b->slot[index];
	struct block *tail, *block;

	blocks_settle(b);
	tail = chain->tail;
	if (block_open(tail))
		return tail;
	block = block_get(b);
	if (!block)
		return NULL;
	block->slot = index;
	block->begin = 0;
	block->end = 0;
	block->live = 0;
	block->leaving = false;
	block->next = NULL;
	block->prev = tail;
	chain->tail = block;
	if (!tail) {
		chain->head = block;
		return block;
	}
	tail->next = block;
	if (tail->live < BLOCK_NODES)
		block_compact(b, tail);
	return block;
}

/* Add a node to the last block of a slot, which has room. */
static __always_inline void blocks_append(struct blocks *b, struct block *block,
					  unsigned int level,
					  unsigned int index,
					  struct wheel_node *node)
{
	block_append(block, node);
	b->last = node->place;
	/* Where others wait, the bits are set. */
	if (!block->live++)
		digits_set(&b->digits, level, index);
}

/* The same where a block or the shelf must be found first. */
static noinline u64 blocks_enqueue_slowly(struct blocks *b,
					  struct wheel_node *node)
{
	u64 key = wheel_fire_tick(b->wheel.now, node->expires), first;
	unsigned int level, shift, index;
	struct block *block;

	if (likely(key)) {
		level = digits_level(b->wheel.now, key);
		shift = level * WHEEL_LEVEL_BITS;
		first = key >> shift << shift;
		index = level * LEVEL_SLOTS + (key >> shift & LEVEL_MASK);
	} else {
		level = LEVELS_MAX;
		first = WHEEL_NEVER;
		index = BLOCKS_SLOTS - 1;
	}
	block = blocks_open(b, index);
	if (unlikely(!block)) {
		b->wheel.refused = true;
		return WHEEL_NEVER;
	}
	blocks_append(b, block, level, index, node);
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

	/* Where the clock has ended, the key is 0, and so is nothing else. */
	if (unlikely(!key || !block_open(block)))
		return blocks_enqueue_slowly(b, node);
	blocks_append(b, block, level, index, node);
	return digits << shift;
}

/*
 * Undo the last arm: the timer is cancelled before another one is armed. So its
 * entry is the last of its chain, and in the cache. (Where its block goes, none
 * are merged: that must wait for entries to be cleared.)
 */
static inline void blocks_undo(struct blocks *b)
{
	struct block *block = block_of(b->last);

	*b->last = NULL;
	if (--block->live)
		block_trim_end(block);
	else
		block_emptied(b, block);
}

void blocks_dequeue(struct wheel *w, struct wheel_node *node)
{
	struct blocks *b = to_blocks(w);
	struct wheel_node **place = node->place;

	if (place == b->last) {
		blocks_undo(b);
		return;
	}
	prefetchw(place);
	prefetchw(block_of(place));
	b->leaving[b->nr_leaving++] = place;
	if (b->nr_leaving == BLOCKS_LEAVING)
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

/* Are there live entries in a slot? */
static inline bool chain_in_use(const struct chain *chain)
{
	return chain->head && chain->head->live;
}

static __always_inline void block_fetch(const struct block *block,
					unsigned int i)
{
	if (i < block->end)
		prefetchw(block->node[i]);
}

/*
 * The key of a node in a slot which begins at @first. An overdue timer was
 * placed for the tick after the clock: where it comes down, that is @first. One
 * that was moved lazily may want more than the slot's span: it then goes to
 * another slot of this level or of a higher one.
 */
static inline u64 blocks_key(const struct wheel_node *node, u64 first)
{
	return max(READ_ONCE(node->expires), first);
}

/* Move a slot down, or as much of it as the budget allows: see levels.h. */
static inline bool blocks_cascade(struct wheel *w, unsigned int level,
				  u64 first, struct wheel_batch *batch)
{
	struct blocks *b = to_blocks(w);
	struct chain *chain = &b->slot[level * LEVEL_SLOTS +
			(first >> level * WHEEL_LEVEL_BITS & LEVEL_MASK)];
	/* Where the last one went, and so do others with a key like that. */
	unsigned int shift = 0, index = first & LEVEL_MASK;
	u64 like = first;

	b->digits.partial = level;
	level = 0;
	while (chain_in_use(chain)) {
		struct block *block = chain->head;
		unsigned int i;

		for (i = 0; i < NODES_AHEAD; i++)
			block_fetch(block, block->begin + i);
		for (i = block->begin; i < block->end; i++) {
			struct wheel_node *node = block->node[i];
			struct block *to;
			u64 key;

			if (!node)
				continue;
			block->begin = i;
			if (batch->looked == batch->budget)
				return false;
			block_fetch(block, i + NODES_AHEAD);
			key = blocks_key(node, first);
			if ((key ^ like) >> shift) {
				like = key;
				level = key == first ? 0 :
						       digits_level(first, key);
				shift = level * WHEEL_LEVEL_BITS;
				index = level * LEVEL_SLOTS +
					(key >> shift & LEVEL_MASK);
			}
			to = b->slot[index].tail;
			if (unlikely(!block_open(to))) {
				to = blocks_open(b, index);
				if (unlikely(!to))
					return false;
			}
			blocks_append(b, to, level, index, node);
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

/* Hand over so many live entries, from @i on; returns where the next is. */
static __always_inline unsigned int block_fire(const struct block *block,
					       unsigned int i,
					       struct wheel_node **to,
					       unsigned int nr)
{
	struct wheel_node **end = to + nr;

	while (to < end) {
		struct wheel_node *node = block->node[i++];

		if (unlikely(!node))
			continue;
		/* Whoever gets the batch will need it. */
		prefetchw(node);
		*to++ = node;
	}
	return i;
}

/* Hand over the slot of the tick that the clock shows, or a part of it. */
static inline void blocks_expire(struct wheel *w, struct wheel_batch *batch)
{
	struct blocks *b = to_blocks(w);
	struct chain *chain = &b->slot[w->now & LEVEL_MASK];
	unsigned int left = batch->budget - batch->looked;

	while (left && chain_in_use(chain)) {
		struct block *block = chain->head;
		unsigned int nr = min_t(unsigned int, block->live, left);

		prefetch(block->next);
		block->begin = block_fire(block, block->begin,
					  &batch->node[batch->nr], nr);
		batch->nr += nr;
		batch->looked += nr;
		left -= nr;
		block->live -= nr;
		if (block->live) {
			block_trim(block);
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
	return 0;
}

static void blocks_destroy(struct wheel *w)
{
	struct blocks *b = to_blocks(w);
	unsigned int i;

	blocks_settle(b);
	for (i = 0; i < BLOCKS_SLOTS; i++)
		if (b->slot[i].head)
			b->pool->put(b->pool, b->slot[i].head);
	while (b->nr_spare)
		b->pool->put(b->pool, block_get(b));
}

/*
 * The most blocks that @live entries can be in, on so many wheels.
 *
 * Two neighbours of a chain, the last block left out, have more live entries
 * than one block has room for. One that is left over where their number is odd,
 * and the last one, make two more for each slot in use. But no block is without
 * a live entry, except one from which entries are just being taken, one that was
 * just added, and the spare ones. A cancelled timer whose entry is still there
 * counts as live.
 */
static size_t blocks_bound(size_t live, unsigned int wheels)
{
	size_t slots = (size_t)wheels * BLOCKS_SLOTS;
	size_t blocks;

	live += (size_t)wheels * BLOCKS_LEAVING;
	blocks = DIV_ROUND_UP(2 * live, BLOCK_NODES + 1) +
		 2 * min(live, slots);
	blocks = min(blocks, live) + wheels * (BLOCK_SPARES + 2);
	return BLOCK_PER_SLOT ? blocks + slots : blocks;
}

static size_t blocks_chunks(const struct wheel_config *cfg, size_t nr,
			    unsigned int wheels, size_t *chunk_size)
{
	*chunk_size = BLOCK_BYTES;
	return blocks_bound(nr, wheels);
}

static struct wheel_node *blocks_first(struct wheel *w)
{
	struct blocks *b = to_blocks(w);
	struct block *block;

	blocks_settle(b);
	if (!b->digits.used)
		return NULL;
	block = b->slot[digits_first(&b->digits)].head;
	return block->node[block->begin];
}

static u64 blocks_fires(const struct wheel *w, const struct wheel_node *node)
{
	const struct blocks *b = to_blocks(w);

	/* It may belong to the slot that is just being fired. */
	if (block_of(node->place)->slot == (w->now & LEVEL_MASK) &&
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
	for (block = b->slot[index].head; block; block = block->next)
		for (i = block->begin; i < block->end; i++)
			if (block->node[i] &&
			    !walk_add(walk, block->node[i], tick, level, slot))
				return;
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
	.brief = "cascading, with slots of packed blocks; fetches timers ahead",
	.source = "Varghese & Lauck 1987, Scheme 7; the library cog",
	.traits = WHEEL_EXACT | WHEEL_POOLED | WHEEL_LAZY,
	.node_size = wheel_node_size(place),
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
