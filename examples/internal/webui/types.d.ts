// The types of the page's scripts, beside those that they declare themselves. Nothing of it is served.

interface Segment {
	segment_id: string;
	sequence: number;
	state: "queued" | "transcribing" | "transcribed" | "failed";
	text: string;
	error: string | null;
	/** The error as a stable word, or null if there is none for it. */
	error_code: string | null;
	duration_ms: number | null;
	ahead: number | null;
	estimated_wait_seconds: number | null;
	audio_deleted_at: string | null;
}

interface Lesson {
	lesson_id: string;
	number: number;
	state: "recording" | "finished";
	applied: boolean;
	/** Whether the segments are left out. */
	truncated: boolean;
	segments: Segment[];
}

interface Session {
	session_id: string;
	feedback_date: string;
	feedback_text: string;
	lessons: Lesson[];
}

interface Profile {
	[field: string]: any;
	profile_id: string;
	name: string;
	grade: string;
	subject: string;
	academic_year: number;
	term: string;
	guardian_title: string;
	start_time: string;
	end_time: string;
}

interface FeedbackRecord {
	record_id: string;
	profile_id: string;
	feedback_date: string;
	content: string;
}

/** A problem document of the interface. */
interface ProblemBody {
	code?: string;
	detail?: string;
	title?: string;
	retry_after_seconds?: number;
	errors?: { location: string; message: string }[];
}

interface RequestOptions {
	/** A Blob is sent as it is; another object becomes JSON. */
	body?: any;
	headers?: Fields;
	/** The time limit. Defaults to 30. */
	seconds?: number;
	/** Sends no credentials but those in headers. */
	anonymous?: boolean;
}

interface Answer {
	etag: string;
	/** The JSON, or null. */
	body: any;
	response: Response;
}

/** Receives the events of a session. */
interface Follower {
	/** There is a connection, and events may have been missed. */
	opened(): void;
	received(event: SessionEvent): void;
}

/** The data of an event of a session. */
interface SessionEvent {
	lesson_id?: string;
	segment?: Segment;
}

/** A recording that waits on the device. */
interface Recording {
	lesson: string;
	sequence: number;
	teacher: string;
	type: string;
	/** In milliseconds; 0 if unknown. */
	duration: number;
	complete: boolean;
	/** Why the server does not take it: for explain, in words (of earlier pages), or null. */
	refused: object | string | null;
	/** Of a file, or "". */
	name: string;
}

interface OutboxState {
	/** How many of the teacher's recordings the server has not confirmed. */
	unsent: number;
	refused: Recording[];
	/** How many are those of other teachers. */
	others: number;
	/** Why nothing is being sent, for the function explain, or null. */
	problem: any;
}

interface RecorderEvents {
	/** A segment of this type has started. If this throws, it is not recorded. */
	segment(type: string): Sink;
	/** How loud it is, in dBFS, after so many seconds. */
	level(dBFS: number, seconds: number): void;
	/** The microphone has gone away. */
	ended(): void;
}

/** Receives the audio of one segment. */
interface Sink {
	chunk(data: Blob): void;
	/** The duration is in milliseconds. */
	end(duration: number): Promise<void>;
}

type SendRequest = (method: string, path: string, options?: RequestOptions) => Promise<Answer>;
type WaitForEvent = (target: EventTarget, name: string, signal?: AbortSignal) => Promise<void>;
type Listen = (target: EventTarget, name: string, listener: (event: any) => unknown) => void;
type Transact = <T>(
	mode: IDBTransactionMode, work: (recordings: IDBObjectStore, chunks: IDBObjectStore) => IDBRequest<T>,
) => Promise<T>;
type Hold = (work: string, ms?: number) => Promise<(() => void) | null>;

type OpenSink = (lesson: string, type: string) => Sink;
type Append = (recording: Recording, n: number, blob: Blob) => Promise<void>;
type Keep = <T>(store: () => Promise<T>) => Promise<T>;

/** name and data are those of a file. */
type AddPart = (lesson: string, type: string, name?: string, data?: ArrayBuffer) => Promise<Recording>;

type Work = import("./page/work.js").Work;

/** Draws a lesson or a part of one, and returns its element. kept are the lesson's recordings that are on this device. */
type Draw<T> = (data: T, kept: Recording[]) => HTMLElement;

/** Draws what has the key, which create prepares the first time. */
type Show = (key: string, create: (data: any) => Draw<any>, data: any, kept?: Recording[]) => HTMLElement;

type Fields = Record<string, string>;
type Props = Record<string, any>;
type Action = () => unknown;
type Translate = (key: Key, values?: Props) => string;
type Offer = (question: string, text: string, ...buttons: HTMLElement[]) => void;
type Ask = (question: string, yes: string) => Promise<boolean>;
type CreateElement = <K extends keyof HTMLElementTagNameMap>(
	tag: K, props?: Props, ...children: Child[]
) => HTMLElementTagNameMap[K];
type CreateButton = (label: string, action: Action, props?: Props) => HTMLButtonElement;
type CreateField = (label: string, control: HTMLElement) => HTMLElement;
type CreateInput = (data: any, name: Key, props?: object) => HTMLElement;
type CreateForm = (
	action: (values: Fields) => unknown, props: Props, ...children: Child[]
) => HTMLFormElement;

type Key = keyof typeof import("./page/i18n/en.json");
type Child = string | Node | null | undefined | false;

/** name returns that of the student, heading is the tag of the titles, deleted is called when one was deleted. */
type RecordList = (
	records: FeedbackRecord[], name: (r: FeedbackRecord) => string, heading: "h2" | "h3", deleted: () => unknown,
) => HTMLElement;

/** Fills main. The function that it returns ends it. */
type View = (main: HTMLElement, ...args: string[]) => Promise<void | (() => Promise<void>)>;
