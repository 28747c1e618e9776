/* SPDX-License-Identifier: GPL-2.0-only */
/* What dcf_aggregate.c needs of linux/list.h, for programs in user space. */
#ifndef AIRBOUND_TESTS_LIST_H
#define AIRBOUND_TESTS_LIST_H

#include <stddef.h>

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD(name)		struct list_head name = { &(name), &(name) }

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *before)
{
	entry->prev = before->prev;
	entry->next = before;
	before->prev->next = entry;
	before->prev = entry;
}

static inline void list_del(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}

static inline void list_move_tail(struct list_head *entry, struct list_head *before)
{
	list_del(entry);
	list_add_tail(entry, before);
}

#define list_entry(at, type, member)		((type *)((char *)(at) - offsetof(type, member)))
#define list_first_entry(list, type, member)	list_entry((list)->next, type, member)
#define list_for_each_entry(at, list, member)						\
	for (at = list_entry((list)->next, __typeof__(*at), member); &at->member != (list);	\
	     at = list_entry(at->member.next, __typeof__(*at), member))
#define list_for_each_entry_safe(at, after, list, member)				\
	for (at = list_entry((list)->next, __typeof__(*at), member),			\
	     after = list_entry(at->member.next, __typeof__(*at), member);		\
	     &at->member != (list);							\
	     at = after, after = list_entry(at->member.next, __typeof__(*at), member))
#define list_for_each_entry_safe_reverse(at, after, list, member)			\
	for (at = list_entry((list)->prev, __typeof__(*at), member),			\
	     after = list_entry(at->member.prev, __typeof__(*at), member);		\
	     &at->member != (list);							\
	     at = after, after = list_entry(at->member.prev, __typeof__(*at), member))

#endif
