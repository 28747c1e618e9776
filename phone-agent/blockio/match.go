// SPDX-License-Identifier: Apache-2.0

package blockio

// Counts are the totals of a recording.
type Counts struct {
	// Requests and Fsyncs were written.
	Requests, Fsyncs uint64
	// Skipped: of processes or devices that were not selected.
	Skipped uint64
	// Refused trace events could not be read. Lost ones were overwritten in the kernel's buffer before they were read.
	Refused, Lost uint64
	// Events is how many of the kernel's were read.
	Events uint64
	// Issues and Completions are those of them that `blktrace` counts as D and C. A request that is requeued is issued
	// again; one that is completed in parts has several completions.
	Issues, Completions uint64
	// FlushEnds are completions that end a write with a flush before or after it. Their requests, of the flush and of
	// the data, have completions of their own.
	FlushEnds uint64
	// Forgotten requests, bios and fsyncs were dropped to bound the memory.
	Forgotten uint64
}

// Limits of what a matcher remembers, which is then about 1 MiB. More requests than that are in flight on no phone;
// a request consists of one bio or of some hundreds.
const (
	biosMax      = 4096
	requestsMax  = 2048
	syncsMax     = 1024
	remappedMax  = 256
	flushersMax  = 64
	sectorBytes  = 512
	noSectorSeen = ^uint64(0)
)

// origin is where a request comes from.
type origin struct {
	who      *who
	upper    uint32
	queuedNS uint64
	sync     *fsync
	// waiting is how many fsyncs waited for the journal then.
	waiting uint32
	bios    uint32
	// flags of the bios: the kernel takes a flush and FUA out of a request and makes requests of their own.
	flags Flags
}

// join adds the bios of another origin. The first stays the submitter.
func (o *origin) join(other origin) {
	if o.bios == 0 {
		*o = other
		return
	}
	o.bios += other.bios
	o.flags |= other.flags
	o.queuedNS = min(o.queuedNS, other.queuedNS)
	if o.sync == nil {
		o.sync, o.waiting = other.sync, other.waiting
	}
}

// bio is a part of a file or of a journal on its way to the device, until it has become part of a request.
type bio struct {
	origin
	// end is the sector after the last.
	end uint64
}

// request is in flight.
type request struct {
	origin
	issuer   *who
	flags    Flags
	sector   uint64
	bytes    uint64
	left     uint64
	issuedNS uint64
	requeues uint32
	// requeued: it waits to be issued again.
	requeued bool
	status   int32
	// gaps is how many gaps there had been when it was issued.
	gaps uint64
}

// fsync is a call that has not returned.
type fsync struct {
	number   uint64
	who      *who
	device   uint32
	inode    uint64
	dataOnly bool
	calledNS uint64
	requests uint32
	flushes  uint32
	bytes    uint64
}

// matcher makes records of events.
type matcher struct {
	threads  threads
	devices  devices
	counts   *Counts
	write    func(*Record) error
	bios     *table[bio]
	requests *table[request]
	// syncs are by their thread, and in the order of their calls by their numbers.
	syncs   map[uint32]*fsync
	numbers uint64
	// remapped are bios on their way from one device to the one below it; flushers wait for a flush of a disk.
	remapped map[place]origin
	flushers map[uint32]origin
	gaps     uint64
	err      error
	// record is the one that is being written: writers do not keep it.
	record Record
}

func newMatcher(names Names, counts *Counts, write func(*Record) error) *matcher {
	return &matcher{
		threads: threads{names, map[uint32]*who{}}, devices: devices{names, map[uint32]Device{}},
		counts: counts, write: write, bios: newTable[bio](biosMax), requests: newTable[request](requestsMax),
		syncs: map[uint32]*fsync{}, remapped: map[place]origin{}, flushers: map[uint32]origin{},
	}
}

// take returns the error of write.
func (m *matcher) take(e *event) error {
	m.counts.Events++
	switch e.kind {
	case queued:
		m.queue(e)
	case remapped:
		m.remap(e)
	case issued:
		m.issue(e)
	case completed:
		m.complete(e)
	case requeued:
		m.requeue(e)
	case syncEntered:
		m.enter(e)
	case syncLeft:
		m.leave(e)
	}
	return m.err
}

// placeOf is where a request is on its disk. That of a flush has no meaning, and differs between issue and completion.
func (m *matcher) placeOf(e *event) place {
	where := place{m.devices.numbered(e.device).Disk, e.op.letter, e.sector}
	if e.op.letter == opFlush || e.sector == noSectorSeen {
		where.sector = 0
	}
	return where
}

// queue remembers who submitted a bio. Its sector is that of the disk, also if it was submitted to a partition.
func (m *matcher) queue(e *event) {
	device := m.devices.numbered(e.device)
	where := m.placeOf(e)
	from := origin{
		who: m.threads.named(e.tid, e.comm), upper: e.device, queuedNS: e.timeNS, bios: 1, flags: e.op.flags,
	}
	from.sync, from.waiting = m.cause(from.who, e.device)
	key := place{e.device, e.op.letter, e.sector}
	if above, is := m.remapped[key]; is {
		delete(m.remapped, key)
		above.flags |= from.flags
		from = above
	}
	if from.flags&Preflush != 0 && !device.Stacked {
		m.wait(where.disk, from)
	}
	if e.sectors == 0 && !device.Stacked {
		return // A flush alone: what waits for it is remembered above.
	}
	if m.bios.full() {
		m.counts.Forgotten++
		m.bios.remove(m.bios.oldest)
	}
	m.bios.add(where, bio{from, e.sector + uint64(e.sectors)})
}

// cause is the fsync that a bio belongs to: the thread's own, or, if a thread of the journal submits it, the oldest
// that waits on this device.
func (m *matcher) cause(who *who, device uint32) (sync *fsync, waiting uint32) {
	if own := m.syncs[who.tid]; own != nil {
		return own, 1
	}
	if !who.journal {
		return nil, 0
	}
	for _, each := range m.syncs {
		if each.device != device {
			continue
		}
		waiting++
		if sync == nil || each.number < sync.number {
			sync = each
		}
	}
	return sync, waiting
}

// wait adds to those who wait for the next flush of a disk.
func (m *matcher) wait(disk uint32, from origin) {
	if _, known := m.flushers[disk]; !known && len(m.flushers) >= flushersMax {
		m.counts.Forgotten++
		clear(m.flushers)
	}
	all := m.flushers[disk]
	all.join(from)
	m.flushers[disk] = all
}

// remap follows a bio to the device below. It is submitted there at once, by the same thread or by one of the kernel's.
func (m *matcher) remap(e *event) {
	from, is := m.remapped[place{e.oldDevice, e.op.letter, e.oldSector}]
	switch {
	case is: // From a partition to its disk: of a bio that the device mapper submitted.
		delete(m.remapped, place{e.oldDevice, e.op.letter, e.oldSector})
	case m.devices.numbered(e.oldDevice).Stacked:
		from = m.originOf(place{e.oldDevice, e.op.letter, e.oldSector}, uint64(e.sectors))
	}
	if from.bios == 0 {
		return
	}
	if len(m.remapped) >= remappedMax {
		m.counts.Forgotten++
		clear(m.remapped)
	}
	m.remapped[place{e.device, e.op.letter, e.sector}] = from
}

// originOf takes the bios of a request, or those parts of them that are in it: a request is made of neighbouring bios,
// and a bio may be split into several.
func (m *matcher) originOf(where place, sectors uint64) origin {
	var from origin
	for end := where.sector + sectors; ; {
		found := m.bioAt(where, end)
		if found == nil {
			return from
		}
		from.join(found.value.origin)
		where.sector = found.value.end
		if where.sector > end {
			m.bios.move(found, end) // The rest of it comes in another request.
			return from
		}
		m.bios.remove(found)
		if where.sector == end {
			return from
		}
	}
}

// bioAt is the oldest bio that begins here, or else one that has sectors in common with what is left until end: its
// beginning was issued before, or after it, or what is between was not seen.
func (m *matcher) bioAt(where place, end uint64) *entry[bio] {
	if found := m.bios.first(where); found != nil {
		return found
	}
	for each := m.bios.oldest; each != nil; each = each.younger {
		if each.disk != where.disk || each.letter != where.letter || each.value.end <= where.sector ||
			each.sector >= end {
			continue
		}
		if each.sector < where.sector { // The beginning comes in another request.
			if m.bios.full() {
				return each
			}
			m.bios.add(each.place, bio{each.value.origin, where.sector})
		}
		return each
	}
	return nil
}

func (m *matcher) issue(e *event) {
	m.counts.Issues++
	where := m.placeOf(e)
	if again := m.requests.first(where); again != nil {
		if again.value.requeued {
			again.value.requeued = false
			return
		}
		if again.value.gaps != m.gaps { // Its completion was lost.
			m.finish(again, Begin, 0)
		}
	}
	from := m.originsAt(where, e)
	if m.requests.full() {
		m.counts.Forgotten++
		m.finish(m.requests.oldest, Begin, 0)
	}
	m.requests.add(where, request{
		origin: from, issuer: m.threads.named(e.tid, e.comm), flags: e.op.flags, sector: where.sector,
		bytes: uint64(e.bytes), left: uint64(e.sectors), issuedNS: e.timeNS, gaps: m.gaps,
	})
}

func (m *matcher) originsAt(where place, e *event) origin {
	if where.letter == opFlush {
		from := m.flushers[where.disk]
		delete(m.flushers, where.disk)
		return from
	}
	if e.sectors == 0 {
		return origin{}
	}
	return m.originOf(where, uint64(e.sectors))
}

func (m *matcher) complete(e *event) {
	where := m.placeOf(e)
	found := m.requests.first(where)
	if e.sectors == 0 && e.op.letter != opFlush && e.op.letter != opOther {
		m.counts.FlushEnds++
		return
	}
	m.counts.Completions++
	if found == nil {
		m.completeUnknown(where, e)
		return
	}
	r := &found.value
	if e.status != 0 {
		r.status = e.status
	}
	if uint64(e.sectors) < r.left {
		r.left -= uint64(e.sectors)
		m.requests.move(found, where.sector+uint64(e.sectors))
		return
	}
	// The device has no FUA: a flush after the data does what FUA would.
	if found.letter == opWrite && r.origin.flags&FUA != 0 && r.flags&FUA == 0 {
		m.wait(found.disk, r.origin)
	}
	m.finish(found, Whole, e.timeNS)
}

// finish writes a request and forgets it.
func (m *matcher) finish(found *entry[request], seen string, nowNS uint64) {
	r := found.value
	op := operation{found.letter, r.flags}
	record := &m.record
	*record = Record{
		TimeNS: r.issuedNS, Event: Request, Times: 1, Seen: seen, Kind: op.kind(), Flags: r.flags.String(),
		Sector: r.sector, Bytes: r.bytes, Status: r.status, Requeues: r.requeues,
		IssuerTID: r.issuer.tid, Issuer: r.issuer.command,
	}
	if nowNS > r.issuedNS {
		record.LatencyNS = nowNS - r.issuedNS
	}
	m.describe(record, found.disk, r.origin)
	m.requests.remove(found)
	m.emit(record)
}

// describe fills in where a request comes from, and counts it for its fsync.
func (m *matcher) describe(record *Record, disk uint32, from origin) {
	record.Device = m.devices.numbered(disk).Name
	record.Bios = from.bios
	if from.bios == 0 {
		record.upper, record.Upper = disk, record.Device
		return
	}
	upper := m.devices.numbered(from.upper)
	record.upper, record.Upper, record.Mount = from.upper, upper.Name, upper.Mount
	record.TID, record.Command = from.who.tid, from.who.command
	record.PID, record.Process = from.who.process.PID, from.who.process.Name
	if record.TimeNS > from.queuedNS {
		record.QueuedNS = record.TimeNS - from.queuedNS
	}
	sync := from.sync
	if sync == nil {
		return
	}
	record.Sync, record.SyncTID, record.SyncCommand = sync.number, sync.who.tid, sync.who.command
	record.SyncProcess, record.syncPID = sync.who.process.Name, sync.who.process.PID
	record.Inode, record.SyncsWaiting = sync.inode, from.waiting
	sync.requests++
	if record.Kind == Flush {
		sync.flushes++
	}
	if record.Kind == Write {
		sync.bytes += record.Bytes
	}
}

func (m *matcher) completeUnknown(where place, e *event) {
	record := &m.record
	*record = Record{
		TimeNS: e.timeNS, Event: Request, Times: 1, Seen: End, Kind: e.op.kind(), Flags: e.op.flags.String(),
		Sector: where.sector, Bytes: uint64(e.sectors) * sectorBytes, Status: e.status,
	}
	m.describe(record, where.disk, origin{})
	m.emit(record)
}

func (m *matcher) requeue(e *event) {
	if found := m.requests.first(m.placeOf(e)); found != nil {
		found.value.requeues++
		found.value.requeued = true
	}
}

func (m *matcher) enter(e *event) {
	if old := m.syncs[e.tid]; old != nil { // Its return was lost.
		m.finishSync(old, Begin, 0, 0)
	}
	if len(m.syncs) >= syncsMax {
		m.counts.Forgotten++
		m.finishSync(m.oldestSync(), Begin, 0, 0)
	}
	m.numbers++
	m.syncs[e.tid] = &fsync{
		number: m.numbers, who: m.threads.numbered(e.tid), device: e.device, inode: e.inode, dataOnly: e.dataOnly,
		calledNS: e.timeNS,
	}
}

func (m *matcher) leave(e *event) {
	if found := m.syncs[e.tid]; found != nil && found.device == e.device && found.inode == e.inode {
		found.dataOnly = found.dataOnly || e.dataOnly
		m.finishSync(found, Whole, e.timeNS, e.status)
	}
}

func (m *matcher) finishSync(sync *fsync, seen string, nowNS uint64, status int32) {
	delete(m.syncs, sync.who.tid)
	device := m.devices.numbered(sync.device)
	record := &m.record
	*record = Record{
		TimeNS: sync.calledNS, Event: Fsync, Times: 1, Seen: seen, Device: m.devices.numbered(device.Disk).Name,
		Upper: device.Name, Mount: device.Mount, Kind: "fsync", Bytes: sync.bytes, Status: status, TID: sync.who.tid,
		Command: sync.who.command, PID: sync.who.process.PID, Process: sync.who.process.Name, Sync: sync.number,
		SyncTID: sync.who.tid, SyncCommand: sync.who.command, SyncProcess: sync.who.process.Name, Inode: sync.inode,
		Requests: sync.requests, Flushes: sync.flushes, upper: sync.device,
	}
	if sync.dataOnly {
		record.Kind = "fdatasync"
	}
	if nowNS > sync.calledNS {
		record.LatencyNS = nowNS - sync.calledNS
	}
	m.emit(record)
}

func (m *matcher) oldestSync() *fsync {
	var oldest *fsync
	for _, each := range m.syncs {
		if oldest == nil || each.number < oldest.number {
			oldest = each
		}
	}
	return oldest
}

// gap forgets what may be wrong from here on: bios may have become requests unseen, fsyncs may have returned. Requests
// in flight are kept; if the next one at a request's place is issued, its completion was lost.
func (m *matcher) gap() {
	m.gaps++
	for m.bios.oldest != nil {
		m.bios.remove(m.bios.oldest)
	}
	clear(m.remapped)
	clear(m.flushers)
	for len(m.syncs) > 0 {
		m.finishSync(m.oldestSync(), Begin, 0, 0)
	}
}

// end writes what has not ended.
func (m *matcher) end() error {
	for m.requests.oldest != nil {
		m.finish(m.requests.oldest, Begin, 0)
	}
	for len(m.syncs) > 0 {
		m.finishSync(m.oldestSync(), Begin, 0, 0)
	}
	return m.err
}

func (m *matcher) emit(record *Record) {
	if err := m.write(record); m.err == nil {
		m.err = err
	}
}
